import { contentText } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { isUserMessage } from "../record/statements.ts";
import { formerRecord } from "./record.ts";

/**
 * The entries of a message number that a summary of the current path shows: the user's message, and the agent's texts
 * up to the next one. Counts to a message outside the summary from the nearest one before it. Empty for an unknown
 * number.
 */
export function numberedEntries(session: Session, number: number): string[] {
  const path = session.path(session.leafId);
  const said = formerRecord(path).record?.words.said ?? [];
  const places = new Map(path.map(({ id }, at) => [id, at]));
  const known = said.findLast(
    ({ turn, entryId, isOnBranch }) => turn <= number && !isOnBranch && places.has(entryId ?? ""),
  );
  let turn = known === undefined ? 0 : known.turn - 1;
  const found: string[] = [];
  for (const entry of path.slice(known === undefined ? 0 : places.get(known.entryId!))) {
    if (entry.type !== "message") continue;
    const { message } = entry;
    if (isUserMessage(message)) turn += 1;
    if (turn > number) break;
    const isText = message?.role === "assistant" && contentText(message.content).trim() !== "";
    if (turn === number && (isText || isUserMessage(message))) found.push(entry.id);
  }
  return found;
}
