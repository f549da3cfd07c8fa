interface Following {
  /** The session may have changed. */
  onChanged: () => void;
  /** @param isThere false while its program is gone */
  onConnection: (isThere: boolean) => void;
}

const AGAIN_MS = 2_000;

/**
 * Follows what the program tells. A browser has six connections for a host, and what tells takes one for as long as it is
 * open: of all pages with one address, one listens and tells the others; when it is closed, another takes its place.
 */
export function follow(following: Following): void {
  // Its token is in the address: no other program's pages have it.
  const others = new BroadcastChannel(location.pathname);
  others.onmessage = ({ data }: MessageEvent<Told>) => {
    if (data === "changed") following.onChanged();
    else following.onConnection(data === "there");
  };
  void navigator.locks.request(location.pathname, () => {
    listen({
      onChanged() {
        following.onChanged();
        others.postMessage("changed" satisfies Told);
      },
      onConnection(isThere) {
        following.onConnection(isThere);
        others.postMessage((isThere ? "there" : "gone") satisfies Told);
      },
    });
    // Until the page is closed.
    return new Promise(() => {});
  });
  // Between what was read and this, nobody told.
  following.onChanged();
}

type Told = "changed" | "there" | "gone";

function listen(following: Following): void {
  const events = new EventSource("events");
  events.onopen = () => following.onConnection(true);
  events.addEventListener("changed", following.onChanged);
  events.onerror = () => {
    following.onConnection(false);
    // The browser does not retry a refused connection.
    if (events.readyState === EventSource.CLOSED) setTimeout(() => listen(following), AGAIN_MS);
  };
}
