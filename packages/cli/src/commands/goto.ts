import { contentText } from "@bonsai-agent/messages";
import type { Entry, Session } from "@bonsai-agent/session";
import type { Invocation } from "../invocation.ts";
import { openNamedSession, resolveEntryId } from "../session-file.ts";
import { gotoView } from "../views/goto-view.ts";

/** What `bonsai goto --json` prints. */
export interface GotoReport {
  leafId: string | null;
  previousLeafId: string | null;
  /** The text of the user message that was chosen: to be written anew. */
  editorText?: string;
  summaryEntryId?: string;
}

export async function run(invocation: Invocation): Promise<undefined> {
  const session = openNamedSession(invocation);
  const target = session.entry(resolveEntryId(session, invocation.args[1]!))!;
  const previousLeafId = session.leafId;
  const place = placeFor(target);
  move(session, place.leafId);
  const report: GotoReport = { leafId: session.leafId, previousLeafId, ...editorText(place.editorText) };
  invocation.output.result(report, () => gotoView({ report, session, width: invocation.output.width }));
}

/** Where choosing an entry leads: a user message is to be written anew, so its place is its parent. */
function placeFor(target: Entry): { leafId: string | null; editorText?: string } {
  if (target.type !== "message" || target.message?.role !== "user") return { leafId: target.id };
  return { leafId: target.parentId, editorText: contentText(target.message.content) };
}

function move(session: Session, leafId: string | null): void {
  if (session.leafId !== leafId) session.moveTo(leafId);
}

function editorText(text: string | undefined): { editorText?: string } {
  return text === undefined ? {} : { editorText: text };
}
