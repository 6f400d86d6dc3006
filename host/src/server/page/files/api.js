// What the page asks by HTTP, and the token with which it asks.

const KEY = "lathe.token";

let token = takeToken();
let ask = async () => null;
let asking = null;

/** Takes a token out of the address, once: it is not to stay in the address bar, nor in the history. */
function takeToken() {
  const { search, hash, pathname } = location;
  const inQuery = /[?&]token=([^&]*)/.exec(search);
  const inHash = /^#token=(.*)$/.exec(hash);
  const found = (inQuery ?? inHash)?.[1];
  if (!found) return sessionStorage.getItem(KEY);
  const query = search.slice(1).split("&").filter((pair) => pair && !pair.startsWith("token=")).join("&");
  history.replaceState(null, "", pathname + (query && `?${query}`) + (inHash ? "" : hash));
  sessionStorage.setItem(KEY, found);
  return found;
}

/** Says how a person is asked for the token: `refused` tells whether one was wrong; null if they give none. */
export function onUnauthorized(asker) {
  ask = asker;
}

async function renew(used) {
  // Several requests fail at once, and one question is enough; somebody may have answered it meanwhile.
  if (token !== used) return true;
  asking ??= ask(used !== null).then((given) => {
    asking = null;
    if (given) {
      token = given;
      sessionStorage.setItem(KEY, given);
    }
    return Boolean(given);
  });
  return asking;
}

/**
 * Makes a request; `body` goes as JSON. The answer's JSON, or null if it has none. Throws an Error in plain words, with
 * `status` (0 if the server cannot be reached).
 */
export async function call(method, path, body) {
  for (;;) {
    const used = token;
    const headers = {};
    if (used) headers.authorization = `Bearer ${used}`;
    if (body !== undefined) headers["content-type"] = "application/json";
    let response;
    try {
      response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    } catch {
      throw problem("The server cannot be reached.", 0);
    }
    if (response.status === 401 && (await renew(used))) continue;
    const text = await response.text();
    if (!response.ok) throw problem(text || `The server answers ${response.status}.`, response.status);
    return text ? JSON.parse(text) : null;
  }
}

function problem(message, status) {
  return Object.assign(new Error(message), { status });
}

/** An address for what cannot set a header: WebSocket and EventSource. The server reads the token as it stands. */
export function address(path, scheme) {
  const url = new URL(path, location.origin);
  if (scheme) url.protocol = url.protocol === "https:" ? `${scheme}s:` : `${scheme}:`;
  if (token) url.search += `${url.search ? "&" : "?"}token=${token}`;
  return url.href;
}

/**
 * Listens to a stream of events, and goes on after failures; `event` gets each event's JSON. The function that is given
 * back ends it.
 */
export function listen(path, event) {
  let source;
  let over = false;
  let timer;
  const open = () => {
    source = new EventSource(address(path));
    source.onmessage = ({ data }) => event(JSON.parse(data));
    source.onerror = async () => {
      // It comes back by itself unless the server has refused it, which only a request can tell.
      if (source.readyState !== EventSource.CLOSED || over) return;
      await call("GET", "/api/about").catch(() => {});
      if (!over) timer = setTimeout(open, 3000);
    };
  };
  open();
  return () => {
    over = true;
    clearTimeout(timer);
    source.close();
  };
}
