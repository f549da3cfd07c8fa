import { contentText } from "@bonsai-agent/messages";
import type { Entry, Session } from "@bonsai-agent/session";
import { isUserMessage } from "../record/statements.ts";
import { formerRecord } from "./record.ts";

/**
 * The entries of a message number that a summary of the current path shows: the user's message, and the agent's texts
 * up to the next one. Counts to a message outside the summary from the nearest one before it, if the count agrees with
 * the next one that the summary knows: branches and omitted messages shift it. Empty for an unknown number.
 */
export function numberedEntries(session: Session, number: number): string[] {
  const path = session.path(session.leafId);
  const { record } = formerRecord(path);
  const [said, closings] = [record?.words.said ?? [], record?.closings ?? []];
  const places = new Map(path.map(({ id }, at) => [id, at]));
  const known = said.flatMap(({ turn, entryId = "", isOnBranch }) => {
    const place = isOnBranch ? undefined : places.get(entryId);
    return place === undefined ? [] : [{ turn, place }];
  });
  const exact = known.find(({ turn }) => turn === number);
  if (exact !== undefined) return turnsFrom(path, exact.place)[0] ?? [];
  const stated = [...said, ...closings].filter(({ turn }) => turn === number);
  if (stated.length > 0) return stated.flatMap(({ entryId }) => entryId ?? []);
  const before = known.findLast(({ turn }) => turn < number) ?? { turn: 1, place: 0 };
  const after = known.find(({ turn }) => turn > number);
  const turns = turnsFrom(path.slice(0, after?.place), before.place);
  if (after !== undefined && before.turn + turns.length !== after.turn) return [];
  return turns[number - before.turn] ?? [];
}

/** The user's messages from a place on, each with the agent's texts up to the next one. */
function turnsFrom(path: readonly Entry[], place: number): string[][] {
  const turns: string[][] = [];
  for (const entry of path.slice(place)) {
    if (entry.type !== "message") continue;
    const { message } = entry;
    if (isUserMessage(message)) turns.push([entry.id]);
    else if (message?.role === "assistant" && contentText(message.content).trim() !== "")
      turns.at(-1)?.push(entry.id);
  }
  return turns;
}
