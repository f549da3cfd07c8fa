import { callsIn } from "@bonsai-agent/messages";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonLine } from "../src/import/json-lines.ts";
import { NoticeLog } from "../src/import/notices.ts";
import { pairToolCalls } from "../src/import/pair-tool-calls.ts";
import { answerDraft, resultDraft, type Step } from "../src/import/step.ts";
import { uuidTree } from "../src/import/uuid-tree.ts";

const callIds = fc.subarray(["a", "b", "c"]);

/** Random trees of steps: each hangs on an earlier one; calls and results come in any order. */
const trees = fc
  .array(
    fc.record({
      parent: fc.nat(),
      kind: fc.constantFrom("user", "answer", "result", "edit"),
      ids: callIds,
      id: fc.constantFrom("a", "b", "c", "d"),
    }),
    { minLength: 1, maxLength: 30 },
  )
  .map((rows) =>
    rows.map(
      (row, index): Step => ({
        key: `k${index}`,
        parent:
          index === 0 || row.parent % 7 === 0 ? null : `k${index - 1 - (row.parent % Math.min(index, 3))}`,
        at: undefined,
        draft: draftOf(row, index),
      }),
    ),
  );

function draftOf(row: { kind: string; ids: string[]; id: string }, index: number): Step["draft"] {
  if (row.kind === "user")
    return { type: "message", message: { role: "user", content: `${index}`, timestamp: 0 } };
  if (row.kind === "edit") return { type: "context_edit", targetId: "k0", replacement: null };
  if (row.kind === "result") {
    return resultDraft(row.id, { content: [], isError: false }, "t");
  }
  const content = row.ids.map((id) => ({ type: "toolCall", id, name: "t", arguments: {} }) as const);
  return answerDraft({ content, provider: "p", model: "m" });
}

function paths(steps: readonly Step[]): Step[][] {
  const byKey = new Map(steps.map((step) => [step.key, step]));
  const parents = new Set(steps.map((step) => step.parent));
  return steps
    .filter((step) => !parents.has(step.key))
    .map((leaf) => {
      const path: Step[] = [];
      for (let step: Step | undefined = leaf; step !== undefined; step = byKey.get(step.parent ?? ""))
        path.unshift(step);
      return path;
    });
}

/** True if each result has an earlier call on the path, and the path does not end with open calls. */
function isPaired(path: readonly Step[]): boolean {
  const called = new Set<string>();
  let open = new Set<string>();
  for (const { draft } of path) {
    if (draft.type !== "message" && draft.type !== "custom_message") continue;
    const message = draft.type === "message" ? draft.message : undefined;
    if (message?.role === "toolResult") {
      if (!called.has(message.toolCallId)) return false;
      open.delete(message.toolCallId);
      continue;
    }
    open = new Set(message === undefined ? [] : callsIn(message).map((call) => call.id));
    for (const id of open) called.add(id);
  }
  return open.size === 0;
}

describe("laws", () => {
  test("Invariant: on every branch each result follows its call, and no branch ends with open calls", () => {
    fc.assert(
      fc.property(trees, (steps) => {
        const paired = pairToolCalls(steps, steps.at(-1)!.key, new NoticeLog());
        expect(paths(paired.steps).every(isPaired)).toBe(true);
      }),
    );
  });

  test("Invariant: pairing loses no step, repeats none, and puts parents first", () => {
    fc.assert(
      fc.property(trees, (steps) => {
        const { steps: paired, leaf } = pairToolCalls(steps, steps.at(-1)!.key, new NoticeLog());
        const keys = paired.map((step) => step.key);
        expect(new Set(keys).size).toBe(keys.length);
        expect(keys).toEqual(expect.arrayContaining(steps.map((step) => step.key)));
        expect(keys).toContain(leaf);
        paired.forEach((step, index) => {
          expect(step.parent === null || keys.indexOf(step.parent) < index).toBe(true);
        });
      }),
    );
  });

  test("Invariant: pairing what is paired changes nothing", () => {
    fc.assert(
      fc.property(trees, (steps) => {
        const once = pairToolCalls(steps, steps.at(-1)!.key, new NoticeLog());
        const notices = new NoticeLog();
        expect(pairToolCalls(once.steps, once.leaf, notices)).toEqual(once);
        expect(notices.all()).toEqual([]);
      }),
    );
  });

  const records = fc.array(fc.record({ uuid: fc.nat({ max: 12 }), parent: fc.option(fc.nat({ max: 14 })) }));

  test("Invariant: whatever the parents, each uuid stands once, below a root, after its parent", () => {
    fc.assert(
      fc.property(records, (rows) => {
        const lines = rows.map(
          ({ uuid, parent }, index): JsonLine => ({
            line: index + 1,
            value: { uuid: `u${uuid}`, parentUuid: parent === null ? null : `u${parent}` },
          }),
        );
        const nodes = uuidTree({ lines, notices: new NoticeLog() });
        const uuids = nodes.map((node) => node.uuid);
        expect([...uuids].sort()).toEqual([...new Set(rows.map(({ uuid }) => `u${uuid}`))].sort());
        nodes.forEach((node, index) => {
          expect(node.parent === null || uuids.indexOf(node.parent) < index).toBe(true);
        });
      }),
    );
  });
});
