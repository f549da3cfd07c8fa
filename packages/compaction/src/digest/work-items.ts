import { openFailures } from "./failures.ts";
import { gist } from "./gist.ts";
import { isTrivialRequest } from "./goal.ts";
import { namesReplaced, withoutReplacedQuotes } from "./out-of-date.ts";
import type { Reading } from "./reading.ts";
import type { Item } from "./render.ts";
import { type Todo, todosOf } from "./todo.ts";
import { LAST_RUNS, workLog } from "./work-log.ts";

/** What was done: older work fades first, and turns that changed much stay longer. */
export function doneItems(reading: Reading): Item[] {
  const done = reading.sections.done.filter(
    (text) => !namesReplaced(text, reading.supersession) && !text.startsWith(LAST_RUNS),
  );
  const last = Math.max(1, reading.transcript.turns.length);
  const log = workLog({
    turns: reading.transcript.turns,
    uses: reading.uses.filter((use) => use.call.order < reading.end),
    statements: reading.statements.filter((statement) => statement.order < reading.end),
  });
  return [
    ...done.map(
      (text, at): Item => ({
        section: "done",
        text: gist(withoutReplacedQuotes(text, reading.supersession), 140),
        score: 0.8 + (1.6 * (at + 1)) / done.length,
        position: at - done.length,
      }),
    ),
    ...log
      .filter((item) => !namesReplaced(item.text, reading.supersession))
      .map(
        (item): Item => ({
          section: "done",
          text: withoutReplacedQuotes(item.text, reading.supersession),
          score: 2 + Math.min(2.5, Math.log2(1 + item.size)) + (2 * item.turn) / last,
          position: item.turn,
        }),
      ),
  ];
}

/** The request that was last worked on, and how far it got. */
export function inProgressItems(reading: Reading): Item[] {
  const { transcript, statements, end } = reading;
  const turn = transcript.turns.findLast((one) => one.order < end && !isTrivialRequest(one.request));
  if (turn === undefined) return [];
  const last = statements.findLast(
    (one) => one.speaker === "assistant" && one.order < end && one.turn >= turn.turn && one.text.length > 20,
  );
  const state = last === undefined ? "" : ` — last: ${gist(last.text, 160)}`;
  const text = withoutReplacedQuotes(`“${gist(turn.request, 160)}”${state}`, reading.supersession);
  return namesReplaced(text, reading.supersession)
    ? []
    : [{ section: "inProgress", text, score: 9, position: 0 }];
}

export function failureItems(reading: Reading): Item[] {
  const open = openFailures({ ...reading, earlier: reading.sections.blocked });
  return open
    .filter((failure) => failure.order < reading.end)
    .map((failure, at) => ({
      section: "blocked",
      text: gist(failure.text, 300),
      score: failure.weight,
      position: at,
    }));
}

export function todoItems(reading: Reading): Item[] {
  return todosOf({ ...reading, earlier: reading.sections.next })
    .filter((todo) => todo.order < reading.end && todo.state !== "done")
    .filter((todo) => !namesReplaced(todo.text, reading.supersession))
    .map((todo, at): Item => ({ section: "next", text: todoLine(todo), score: todo.weight, position: at }));
}

function todoLine({ text, state, boxed }: Todo): string {
  return `${boxed ? "[ ] " : ""}${gist(text, 240)}${state === "active" ? " (in progress)" : ""}`;
}
