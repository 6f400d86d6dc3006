use std::time::Duration;

/// What clients may use of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one frame from a client. 8 MiB: a client sends its whole transcript, with the images in it.
    pub frame_bytes: usize,
    /// Connections of all sessions together. 1,024.
    pub connections: usize,
    /// Bytes that wait for a client that reads slowly; one that lets more gather is dropped, and may come back. 16 MiB.
    pub queued_bytes: usize,
    /// Requests of one session that wait for their turn. 64.
    pub requests: usize,
    /// How long nothing may be said over a WebSocket, either way and pings aside; then it is closed, and the client comes
    /// back when it wants to. 1 hour.
    pub idle: Duration,
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
            queued_bytes: 16 << 20,
            requests: 64,
            idle: Duration::from_hours(1),
            stop: Duration::from_secs(10),
            unattended: Duration::from_secs(2),
        }
    }
}
