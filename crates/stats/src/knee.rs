//! The knee of a latency curve (Satopää et al., "Finding a 'Kneedle' in a Haystack", 2011).

/// Kneedle's sensitivity S: the distance that the curve must fall from its peak before the peak is a knee.
const SENSITIVITY: f64 = 1.0;

/// The point above which latency grows faster than load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// The load at the knee, in the unit of the curve's x.
    pub load: f64,
    /// The latency at the knee.
    pub latency: f64,
}

/// Finds the knee of (load, latency) points, in any order. `None` with fewer than 5 loads, or when latency
/// never grows faster than load: a noisy flat line has no knee.
pub fn knee(points: &[(f64, f64)]) -> Option<Knee> {
    let mut curve = points.to_vec();
    curve.retain(|p| p.0.is_finite() && p.1.is_finite());
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    // One point for each load: the least number of points and the threshold are of distinct loads.
    curve.dedup_by_key(|p| p.0);
    if curve.len() < 5 {
        return None;
    }
    let below = distance_below_diagonal(&curve)?;
    // Kneedle's threshold: S times the mean distance of two loads, which is 1 / (n − 1) of the unit
    // square.
    let peak = first_confirmed_peak(&below, SENSITIVITY / (curve.len() - 1) as f64)?;
    let (load, latency) = curve[peak];
    let (last_load, last_latency) = *curve.last()?;
    // Normalised, any rise fills the unit square; only one steeper than the load's own is a knee.
    let outgrows = last_latency * load > latency * last_load;
    outgrows.then_some(Knee { load, latency })
}

/// The distance of each point of the curve, scaled to the unit square, below the diagonal; `None` if the
/// curve does not rise.
fn distance_below_diagonal(curve: &[(f64, f64)]) -> Option<Vec<f64>> {
    let (first, last) = (curve.first()?, curve.last()?);
    let low = curve.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
    let high = curve.iter().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
    let (width, height) = (last.0 - first.0, high - low);
    if width <= 0.0 || height <= 0.0 {
        return None;
    }
    Some(curve.iter().map(|p| (p.0 - first.0) / width - (p.1 - low) / height).collect())
}

/// The first local maximum after which the distance falls by `drop` before it rises above the maximum again.
fn first_confirmed_peak(distance: &[f64], drop: f64) -> Option<usize> {
    let mut peak = 0;
    for (i, &d) in distance.iter().enumerate() {
        // `>=`: on a plateau the last point is the knee, behind which the curve falls.
        if d >= distance[peak] {
            peak = i;
        } else if distance[peak] > 0.0 && d < distance[peak] - drop {
            return Some(peak);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_bend_of_a_saturating_server() {
        // 10 ms until 50,000/s, then a queue: 1 ms more per 100/s.
        let curve: Vec<_> = (1..=10)
            .map(|i| {
                let rate = f64::from(i) * 10_000.0;
                (rate, 10.0 + ((rate - 50_000.0) / 100.0).max(0.0))
            })
            .collect();
        let found = knee(&curve).unwrap();
        assert_eq!((found.load, found.latency), (50_000.0, 10.0));
        let mut shuffled = curve;
        shuffled.reverse();
        assert_eq!(knee(&shuffled), Some(found));
    }

    #[test]
    fn finds_the_bend_of_a_queue() {
        // M/M/1: latency 1/(1 − ρ); Kneedle puts the knee where the scaled slope is 1, near ρ = 0.9 for ρ up
        // to 0.98.
        let curve: Vec<_> =
            (1..50).map(|i| f64::from(i) / 50.0).map(|load| (load, 1.0 / (1.0 - load))).collect();
        let found = knee(&curve).unwrap();
        assert!((0.82..0.92).contains(&found.load), "{found:?}");
    }

    #[test]
    fn a_flat_noisy_line_has_none() {
        let noise = [1.0, 1.1, 0.9, 1.05, 1.0, 1.2, 0.95, 1.0, 1.1, 1.05];
        let curve: Vec<_> = noise.iter().enumerate().map(|(i, &y)| (1_000.0 * (i + 1) as f64, y)).collect();
        assert_eq!(knee(&curve), None);
    }

    #[test]
    fn latency_in_proportion_to_load_has_none() {
        let curve: Vec<_> = (1..10).map(|i| (f64::from(i), 2.0 * f64::from(i))).collect();
        assert_eq!(knee(&curve), None);
    }
}
