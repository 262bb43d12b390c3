//! The system outside of the cluster: a trait, and a fake of it.
//!
//! To use a real one, implement [`DatabaseServer`] with its client library, and give that to the controller in `main.rs`.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::controller::DatabaseError;

type Answer<T> = Result<T, DatabaseError>;

/// What a database server can do. Everything may be asked again: it is as if asked once.
pub(crate) trait DatabaseServer: Send + Sync + 'static {
    /// Makes the database, unless it is there.
    fn create(&self, database: &str) -> impl Future<Output = Answer<()>> + Send;
    /// Deletes the database and its users, if they are there.
    fn delete(&self, database: &str) -> impl Future<Output = Answer<()>> + Send;
    /// Each user, and how old its password is.
    fn users(&self, database: &str) -> impl Future<Output = Answer<BTreeMap<String, Duration>>> + Send;
    /// Gives a user a new password, and makes the user first if need be.
    fn reset_password(&self, database: &str, user: &str) -> impl Future<Output = Answer<String>> + Send;
    /// Deletes a user, if there is one.
    fn remove_user(&self, database: &str, user: &str) -> impl Future<Output = Answer<()>> + Send;
}

/// A server in memory. Clones are the same server.
#[derive(Clone, Default)]
pub(crate) struct FakeServer(pub(crate) Arc<Mutex<Fake>>);

#[derive(Default)]
pub(crate) struct Fake {
    pub(crate) is_down: bool,
    passwords: u32,
    pub(crate) databases: BTreeMap<String, BTreeMap<String, Instant>>,
}

impl FakeServer {
    fn fake(&self) -> Answer<MutexGuard<'_, Fake>> {
        let fake = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if fake.is_down {
            Err(DatabaseError::Unavailable)
        } else {
            Ok(fake)
        }
    }
}

impl DatabaseServer for FakeServer {
    async fn create(&self, database: &str) -> Answer<()> {
        self.fake()?.databases.entry(database.to_owned()).or_default();
        Ok(())
    }

    async fn delete(&self, database: &str) -> Answer<()> {
        self.fake()?.databases.remove(database);
        Ok(())
    }

    async fn users(&self, database: &str) -> Answer<BTreeMap<String, Duration>> {
        let fake = self.fake()?;
        let users = fake.databases.get(database).into_iter().flatten();
        Ok(users
            .map(|(user, since)| (user.clone(), since.elapsed()))
            .collect())
    }

    async fn reset_password(&self, database: &str, user: &str) -> Answer<String> {
        if matches!(user, "postgres" | "root") {
            return Err(DatabaseError::Refused(format!("the name {user:?} is reserved")));
        }
        let mut fake = self.fake()?;
        fake.passwords += 1;
        let password = format!("password-{}", fake.passwords);
        let users = fake.databases.entry(database.to_owned()).or_default();
        users.insert(user.to_owned(), Instant::now());
        Ok(password)
    }

    async fn remove_user(&self, database: &str, user: &str) -> Answer<()> {
        if let Some(users) = self.fake()?.databases.get_mut(database) {
            users.remove(user);
        }
        Ok(())
    }
}
