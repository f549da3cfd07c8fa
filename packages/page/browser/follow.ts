interface Following {
  /** The session may have changed. */
  onChanged: () => void;
  /** @param isThere false while its program is gone */
  onConnection: (isThere: boolean) => void;
}

const AGAIN_MS = 2_000;

/** Follows the session of the program that serves the page. */
export function follow(following: Following): void {
  const events = new EventSource("events");
  events.onopen = () => following.onConnection(true);
  events.addEventListener("changed", following.onChanged);
  events.onerror = () => {
    following.onConnection(false);
    // The browser does not retry a refused connection.
    if (events.readyState === EventSource.CLOSED) setTimeout(() => follow(following), AGAIN_MS);
  };
}
