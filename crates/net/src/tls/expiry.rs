//! The end of a certificate's validity: the one field that webpki checks and does not hand out.

const SEQUENCE: u8 = 0x30;
/// The tag of the version; certificates of version 1 have none.
const EXPLICIT_VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;

/// The `notAfter` of a certificate in DER, with the year in four digits; `None` if the certificate is
/// malformed.
pub(super) fn not_after(certificate: &[u8]) -> Option<String> {
    let (_, certificate, _) = element(certificate)?;
    let (SEQUENCE, mut fields, _) = element(certificate)? else { return None };
    if fields.first() == Some(&EXPLICIT_VERSION) {
        fields = element(fields)?.2;
    }
    // Serial number, signature algorithm, issuer (RFC 5280 §4.1).
    for _ in 0..3 {
        fields = element(fields)?.2;
    }
    let (SEQUENCE, validity, _) = element(fields)? else { return None };
    let (kind, time, _) = element(element(validity)?.2)?;
    let time = std::str::from_utf8(time).ok()?;
    // Years of two digits from 50 on belong to the last century (§4.1.2.5.1).
    let century = if kind != UTC_TIME {
        ""
    } else if time < "50" {
        "20"
    } else {
        "19"
    };
    Some(format!("{century}{time}"))
}

/// The first element: its tag, its content, and what follows it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, short], rest) = der.split_first_chunk()?;
    let (bytes, rest) = match short {
        0..=0x7f => (usize::from(short), rest),
        // A certificate whose length takes more than four bytes is none.
        0x81..=0x84 => {
            let (length, rest) = rest.split_at_checked(usize::from(short & 0x7f))?;
            (length.iter().fold(0, |bytes, &byte| bytes << 8 | usize::from(byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(bytes)?;
    Some((tag, content, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_either_form_are_read() {
        for (year, end) in [(2040, "20400101000000Z"), (2060, "20600101000000Z")] {
            let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
            params.not_after = rcgen::date_time_ymd(year, 1, 1);
            let der = params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap();
            assert_eq!(not_after(der.der()).as_deref(), Some(end));
            for bytes in 0..100 {
                assert_eq!(not_after(&der.der()[..bytes]), None, "{bytes} bytes of it");
            }
        }
    }
}
