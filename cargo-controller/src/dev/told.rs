//! Where the lines go: to standard output as they come, and on a terminal with a table of all objects below them.

use std::{
    io::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{task::AbortHandle, time::Instant};

use super::{
    narrate::Line,
    table::{self, Row},
    wire::Status,
};
use crate::{
    paint::Palette,
    project::Said,
    terminal::{Block, Screen, Size, fit},
};

/// How often the table is drawn anew, so that its times go on and it follows the terminal's size.
const DRAW: Duration = Duration::from_millis(200);

/// Tells lines with the time since it began. Clones tell to the same place.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    palette: Palette,
    began: Instant,
    live: Option<Arc<Mutex<Live>>>,
    _drawing: Option<Arc<Drawing>>,
}

/// The task that draws; it ends with the last clone.
#[derive(Debug)]
struct Drawing(AbortHandle);

impl Drop for Drawing {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What is known for the table, and where it stands.
#[derive(Debug)]
struct Live {
    palette: Palette,
    block: Block,
    rows: Vec<Row>,
    /// The line below the table.
    summary: String,
    /// When the rows were told.
    asked: Instant,
    building: Option<Building>,
    /// `None` once it was given back.
    screen: Option<Screen>,
}

#[derive(Debug)]
struct Building {
    since: Instant,
    progress: String,
}

impl Told {
    /// With a table, where standard output is a terminal that can show one.
    pub(crate) fn to_stdout() -> Self {
        let palette = Palette::for_stdout();
        let live = Screen::take().map(|screen| {
            Arc::new(Mutex::new(Live {
                palette,
                block: Block::default(),
                rows: Vec::new(),
                summary: String::new(),
                asked: Instant::now(),
                building: None,
                screen: Some(screen),
            }))
        });
        let drawing = live.as_ref().map(|live| {
            let live = Arc::downgrade(live);
            let task = tokio::spawn(async move {
                while let Some(live) = live.upgrade() {
                    lock(&live).draw("");
                    drop(live);
                    tokio::time::sleep(DRAW).await;
                }
            });
            Arc::new(Drawing(task.abort_handle()))
        });
        Self {
            palette,
            began: Instant::now(),
            live,
            _drawing: drawing,
        }
    }

    /// Whether there is a table.
    pub(crate) fn is_live(&self) -> bool {
        self.live.is_some()
    }

    pub(crate) fn is_coloured(&self) -> bool {
        self.palette == Palette::Ansi
    }

    pub(crate) fn say(&self, line: &Line) {
        self.write(&line.render(self.palette, self.began.elapsed()));
    }

    /// A line that the operator wrote itself.
    pub(crate) fn quote(&self, text: &str) {
        self.write(&format!("{} {text}", self.palette.dim("          operator |")));
    }

    /// What cargo said. Only a table has a place for its progress.
    pub(crate) fn cargo(&self, said: Said) {
        match said {
            Said::Progress(progress) => self.building(Some(progress)),
            Said::Line(line) => self.write(&line),
        }
    }

    /// Where the build is; `None` when it has ended.
    pub(crate) fn building(&self, progress: Option<String>) {
        let Some(live) = &self.live else { return };
        let mut live = lock(live);
        let since = live
            .building
            .as_ref()
            .map_or_else(Instant::now, |building| building.since);
        live.building = progress.map(|progress| Building { since, progress });
        live.draw("");
    }

    /// How all objects are.
    pub(crate) fn status(&self, status: &Status) {
        let Some(live) = &self.live else { return };
        let mut live = lock(live);
        live.rows = table::rows(status);
        live.summary = summary(status, &live.rows);
        live.asked = Instant::now();
        live.draw("");
    }

    /// Leaves the table as it is and gives the terminal back. What is told from now on is told in lines.
    pub(crate) fn finish(&self) {
        if let Some(live) = &self.live {
            lock(live).finish();
        }
    }

    fn write(&self, line: &str) {
        match &self.live {
            Some(live) => lock(live).draw(&format!("{line}\n")),
            None => write(&format!("{line}\n")),
        }
    }
}

/// A thread that panicked has left nothing half done that a next drawing would not mend.
fn lock(live: &Mutex<Live>) -> MutexGuard<'_, Live> {
    live.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Live {
    fn draw(&mut self, staying: &str) {
        let Some(size) = self.screen.as_ref().map(Screen::size) else {
            write(staying);
            return;
        };
        let lines = self.lines(size);
        let written = self.block.update(staying, lines, size);
        if !written.is_empty() {
            write(&written);
        }
    }

    fn finish(&mut self) {
        write(self.block.leave());
        self.screen = None;
    }

    fn lines(&self, size: Size) -> Vec<String> {
        // The lines above need their place as well.
        let room = Size {
            rows: (size.rows * 2 / 3).saturating_sub(1),
            ..size
        };
        let age = u64::try_from(self.asked.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut lines = table::draw(&self.rows, age, room, self.palette);
        let last = match &self.building {
            Some(building) => {
                let took = building.since.elapsed().as_secs() * 1_000;
                format!("building, {}: {}", table::rough(took), building.progress)
            }
            None => self.summary.clone(),
        };
        if !last.is_empty() {
            let last = fit(&last, size.columns.saturating_sub(1));
            lines.push(self.palette.strong(last.trim_end()));
        }
        lines
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.finish();
    }
}

fn summary(status: &Status, rows: &[Row]) -> String {
    let ready = if status.ready { "ready" } else { "not ready" };
    let queue = |count: fn(&super::wire::Queue) -> usize| -> usize {
        status
            .controllers
            .iter()
            .map(|controller| count(&controller.queue))
            .sum()
    };
    let objects = match rows.len() {
        0 => "no objects yet".to_owned(),
        1 => format!("1 object: {}", table::count(rows)),
        number => format!("{number} objects: {}", table::count(rows)),
    };
    format!(
        "{ready}; {objects}; {} running, {} waiting",
        queue(|queue| queue.running + queue.ready),
        queue(|queue| queue.waiting)
    )
}

fn write(text: &str) {
    // Whoever read us has gone; that is no reason to stop the operator in the middle.
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes());
    let _ = stdout.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_sums_up() {
        let status = |objects: &str| -> Status {
            serde_json::from_str(&format!(
                r#"{{"ready":true,"controllers":[{{"name":"d","kind":"D","synced":true,
                    "queue":{{"ready":1,"running":2,"waiting":3}},"sources":[],"objects":[{objects}]}}]}}"#
            ))
            .unwrap()
        };
        let none = status("");
        assert_eq!(
            summary(&none, &table::rows(&none)),
            "ready; no objects yet; 3 running, 3 waiting"
        );
        let one = status(r#"{"kind":"D","name":"a","result":"ok"}"#);
        assert_eq!(
            summary(&one, &table::rows(&one)),
            "ready; 1 object: 1 ok; 3 running, 3 waiting"
        );
    }
}
