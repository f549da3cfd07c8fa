import type { DecideEvent, NotifyEvent } from "@bonsai-agent/lifecycle";

export type SessionStartReason = "startup" | "reload" | "new" | "resume" | "fork";

/** The events of opening, naming, leaving and forking sessions. */
export interface SessionEvents {
  session_start: NotifyEvent<{
    type: "session_start";
    reason: SessionStartReason;
    /** The file that was left, with "new", "resume" and "fork". */
    previousSessionFile?: string;
  }>;
  session_shutdown: NotifyEvent<{
    type: "session_shutdown";
    reason: "quit" | "reload" | "new" | "resume" | "fork";
    targetSessionFile?: string;
  }>;
  session_info_changed: NotifyEvent<{ type: "session_info_changed"; name: string | undefined }>;
  session_before_switch: DecideEvent<
    { type: "session_before_switch"; reason: "new" | "resume"; targetSessionFile?: string },
    { cancel?: boolean }
  >;
  session_before_fork: DecideEvent<
    { type: "session_before_fork"; entryId: string; position: "before" | "at" },
    { cancel?: boolean }
  >;
}
