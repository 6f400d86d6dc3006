use std::time::Duration;

/// Sockets beyond those of [`Limits::connections`]: 64, for pages, metrics and refusals while all of these are taken.
pub(super) const PLAIN: usize = 64;

/// Bytes of a request's head, and of an answer that are gathered before they are written: 64 KiB. Browsers send at most a
/// few of cookies, and other servers on this machine set them, too.
pub(super) const BUFFER: usize = 64 << 10;

/// Bytes of the frame with what clients share, which is kept as long as the session is open: 256 KiB. As JSON in memory that may be
/// 10 MiB.
pub(super) const STATE: usize = 256 << 10;

/// Messages of one request, and parts of them together: 10,000. Each is compared with each of the stored ones, while
/// other sessions wait for the store.
pub(super) const PARTS: usize = 10_000;

/// What clients may use of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one frame from a client. 8 MiB: a client sends its whole transcript, with the images in it.
    pub frame_bytes: usize,
    /// Connections of all sessions together. 1,024. Sockets may be 64 more, for requests that are answered at once.
    pub connections: usize,
    /// Sessions that are open: those that somebody is connected to or that work, and for five minutes more. 2,048: those
    /// that rest do not keep out the clients that may be connected.
    pub sessions: usize,
    /// Bytes that wait for a client that reads slowly; one that lets more gather is dropped, and may come back. 16 MiB.
    pub queued_bytes: usize,
    /// Requests of one session that wait for their turn. 64.
    pub requests: usize,
    /// How long nothing may be said over a WebSocket, either way and pings aside; then it is closed, and the client comes
    /// back when it wants to. 1 hour.
    pub idle: Duration,
    /// How long a client may take to send the head of a request, and say nothing between two of them. 30 s: time for any
    /// network; and who opens sockets to keep others out has to keep at it.
    pub head: Duration,
    /// How long it may take to send a body. 2 minutes: the longest one at 70 kB/s.
    pub body: Duration,
    /// How long it may read nothing of what it is sent. 30 s.
    pub write: Duration,
    /// How long turns that run may take to end when the server stops. 10 s.
    pub stop: Duration,
    /// How long turns that an earlier process has left wait for a client of theirs, which then sees what becomes of them;
    /// without one they are taken up after that time. 2 s.
    pub unattended: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            frame_bytes: 8 << 20,
            connections: 1_024,
            sessions: 2_048,
            queued_bytes: 16 << 20,
            requests: 64,
            idle: Duration::from_hours(1),
            head: Duration::from_secs(30),
            body: Duration::from_mins(2),
            write: Duration::from_secs(30),
            stop: Duration::from_secs(10),
            unattended: Duration::from_secs(2),
        }
    }
}
