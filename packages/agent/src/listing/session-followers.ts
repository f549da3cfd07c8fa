import type { RunFollower } from "../run/run-follower.ts";
import { SessionDigests, type SessionDigestsOptions } from "./session-digest.ts";
import { SessionTitles, type SessionTitlesOptions } from "./titles.ts";

/** Names a session after its first exchange. */
export function titleFollower(options: SessionTitlesOptions): RunFollower {
  const titles = new SessionTitles(options);
  return {
    runEnded({ result }) {
      if (result.status === "done" && result.answer !== undefined) titles.exchangeEnded();
    },
    close: () => titles.close(),
  };
}

/** Keeps up what the session list shows of a session. */
export function digestFollower(options: SessionDigestsOptions): RunFollower {
  const digests = new SessionDigests(options);
  return {
    runEnded: ({ messages }) => digests.runEnded(messages()),
    close: () => digests.close(),
  };
}
