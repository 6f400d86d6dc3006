/** Holds the process of the sandbox while the thread of the tests waits for its answers. */

import { spawn } from "node:child_process";
import { workerData } from "node:worker_threads";

const { lathe, port, signal } = workerData;

function tell(message) {
  port.postMessage(message);
  Atomics.add(signal, 0, 1);
  Atomics.notify(signal, 0);
}

// A guest's records and refused calls are told by the test; the log would tell them again.
const env = { ...process.env, LATHE_LOG: "off" };
const child = spawn(lathe, ["sandbox"], { stdio: ["pipe", "pipe", "inherit"], env });
child.on("error", (error) => tell({ gone: error.message }));
child.on("close", () => tell({ gone: "its words are above" }));
child.stdin.on("error", () => {});
port.on("message", (line) => child.stdin.write(`${line}\n`));

// Not by `readline`, for which there are more ends of a line than this one.
let rest = "";
child.stdout.setEncoding("utf8").on("data", (text) => {
  const lines = (rest + text).split("\n");
  rest = lines.pop();
  for (const line of lines) tell({ line });
});
