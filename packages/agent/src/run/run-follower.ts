import type { Message } from "@bonsai-agent/messages";
import type { RunResult } from "./run-result.ts";

/** Who does something of its own after each run: titles, the digest for the session list. */
export interface RunFollower {
  /** Called after `agent_end`. Returns at once, and never throws. */
  runEnded(run: { result: RunResult; messages: () => readonly Message[] }): void;
  /** Ends what is under way; called before the session is closed. Never rejects. */
  close(): Promise<void>;
}
