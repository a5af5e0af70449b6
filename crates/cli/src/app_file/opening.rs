//! The opening of a client: the steps of `open`, one by one, each with the names that there are by then.

use app::app_file::{Frames, OpenStep, Say};
use app::template::{Names, Purpose};
use toml::Spanned;

use super::checked::Checked;
use super::file::{AsText, File, Step, Written};
use super::keeps::{self, KeptNames};
use crate::exit::Failure;

/// The steps, and the names of all that is said behind them.
pub(super) fn opening(
    checked: &Checked<'_>,
    file: &File,
    keeper: &mut KeptNames,
) -> Result<(Vec<OpenStep>, Names), Failure> {
    let (mut steps, mut names) = (Vec::new(), checked.names.clone());
    for step in &file.open {
        let of_step = Checked { names: &names, ..*checked };
        steps.push(of_step.step(step)?);
        if let Some(keep) = of_step.kept(&step.get_ref().keep, keeper)? {
            if let OpenStep::Keep(keeps) = &keep {
                keeps::name(&mut names, keeps);
            }
            steps.push(keep);
        }
    }
    keeps::name_later(checked.source, file, keeper, &mut names)?;
    Ok((steps, names))
}

impl Checked<'_> {
    fn step(&self, step: &Spanned<Step>) -> Result<OpenStep, Failure> {
        match step.get_ref() {
            Step { event, send: Some(text), frame, replied, expect: None, wait: None, keep } => {
                let say = self.in_frame(frame, event, text)?;
                let is_replied = self.replied(replied)?;
                keeps::check_waits(self.source, keep, is_replied)?;
                Ok(if is_replied { OpenStep::Ask(say) } else { OpenStep::Send(say) })
            }
            Step { event: None, send: None, frame: None, replied: None, expect: Some(when), wait: None, .. } => {
                Ok(OpenStep::Expect(self.condition(when)?))
            }
            Step { event: None, send: None, frame: None, replied: None, expect: None, wait: Some(time), keep }
                if keep.is_empty() =>
            {
                Ok(OpenStep::Wait(self.duration(time)?))
            }
            _ => Err(self.wrong(
                step,
                "expected exactly one of `send`, `expect` and `wait` in a step, `event`, `frame` and `replied` beside `send` \
                 alone, and `keep` beside what comes in",
            )),
        }
    }

    /// Reads the message of a step, for a frame as the app's others or for one of text.
    fn in_frame(
        &self,
        frame: &Option<Spanned<AsText>>,
        event: &Option<Spanned<String>>,
        text: &Spanned<String>,
    ) -> Result<Say, Failure> {
        match (frame, self.frames) {
            (None, _) => self.say(event, text, Purpose::Other),
            (Some(_), Frames::MessagePack { .. }) => {
                let plain = Checked { frames: &Frames::Text, ..*self };
                Ok(Say { as_text: true, ..plain.say(event, text, Purpose::Other)? })
            }
            (Some(frame), _) => Err(self.wrong(frame, "is for frames = \"msgpack\"; others are all alike")),
        }
    }

    /// The step that keeps something of what the one before has waited for; `None`: nothing is kept.
    pub(super) fn kept(&self, keep: &Written, keeper: &mut KeptNames) -> Result<Option<OpenStep>, Failure> {
        let keeps = keeper.of_message(self.source, keep)?;
        Ok((!keeps.is_empty()).then_some(OpenStep::Keep(keeps)))
    }
}
