//! Where the lines go.

use std::io::Write as _;

use tokio::time::Instant;

use super::narrate::Line;
use crate::paint::Palette;

/// Tells lines with the time since it began. Clones tell to the same place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    palette: Palette,
    began: Instant,
}

impl Told {
    pub(crate) fn to_stdout() -> Self {
        Self {
            palette: Palette::for_stdout(),
            began: Instant::now(),
        }
    }

    pub(crate) fn say(self, line: &Line) {
        write(&line.render(self.palette, self.began.elapsed()));
    }

    /// A line that the operator wrote itself.
    pub(crate) fn quote(self, text: &str) {
        write(&format!("{} {text}", self.palette.dim("          operator |")));
    }
}

fn write(line: &str) {
    // Whoever read us has gone; that is no reason to stop the operator in the middle.
    let _ = writeln!(std::io::stdout(), "{line}");
}
