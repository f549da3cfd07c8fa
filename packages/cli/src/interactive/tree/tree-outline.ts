import type { Session } from "@bonsai-agent/session";
import type { OutlineEntry } from "../../session-outline.ts";
import { RecordKinds } from "./record-kinds.ts";

/**
 * All entries in file order, as `sessionOutline` gives them, in a tenth of its time: messages are not parsed, so that one
 * whose body is damaged stands among them.
 */
export function treeOutline(session: Session): OutlineEntry[] {
  return RecordKinds.of(session).outline();
}
