import { branchDiff, compactionSettings } from "@bonsai-agent/compaction";
import { createSession } from "@bonsai-agent/session";
import { history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { pathTo, spokenAt, viewRows } from "../src/paths.ts";
import { SessionPage } from "../src/session-page.ts";

const settings = compactionSettings({}, { estimator: "chars4" });

test("a page lists the entries of the projection as the model's context", () => {
  fc.assert(
    fc.property(treeArbitrary({ own: true }), (notation) => {
      const { session } = history(notation);
      const data = new SessionPage(session).data();
      for (const { row, view } of data.requests) {
        const parent = data.rows.parents[row]!;
        const seen = parent < 0 ? [] : session.projection(data.rows.ids[parent]!).items;
        const told = viewRows(data, pathTo(data.rows.parents, parent), view);
        expect(told.map((each) => [data.rows.ids[each.row], each.isMasked])).toEqual(
          seen.map(({ entryId, edit }) => [entryId, edit !== undefined]),
        );
      }
    }),
  );
});

test("a comparison with the current position has the entries of branchDiff", () => {
  fc.assert(
    fc.property(treeArbitrary({ own: true }), (notation) => {
      const { session } = history(notation);
      const page = new SessionPage(session);
      const { rows, leaf, compared } = page.data();
      const b = rows.ids[spokenAt(rows, leaf)] ?? null;
      for (const end of compared) {
        const told = page.comparison(end);
        const diff = branchDiff({ session, settings, a: rows.ids[end]!, b });
        expect(told).toMatchObject({ relation: diff.relation, commonEntries: diff.commonEntries });
        expect(rows.ids[told.commonAncestor]).toBe(diff.commonAncestor?.id);
        for (const side of ["a", "b"] as const) {
          expect(told[side].entries).toBe(diff[side].entries.length);
          expect(told[side].commands.map(({ row }) => rows.ids[row])).toEqual(
            diff[side].commands.map(({ entryId }) => entryId),
          );
          expect(told[side].lastAnswer.map((row) => rows.ids[row])).toEqual(
            diff[side].lastAnswer === undefined ? [] : [diff[side].lastAnswer.entryId],
          );
        }
      }
    }),
  );
});

test("a page compares at most 100 branches and 1,000 entries, newest branches first", () => {
  const session = createSession({ cwd: "/project" });
  const say = (content: string) =>
    session.append({ type: "message", message: { role: "user", content, timestamp: 0 } }).id;
  const root = say("root");
  for (let branch = 0; branch < 150; branch++) {
    session.moveTo(root);
    say(`branch ${branch}`);
  }
  const { compared, rows } = new SessionPage(session).data();
  expect(compared).toHaveLength(100);
  expect(rows.previews[compared[0]!]).toBe("branch 148");
  for (let step = 0; step < 500; step++) say(`step ${step}`);
  expect(new SessionPage(session).data().compared).toHaveLength(1);
});

test("an updated page has the data of a new page, and a reopened page none of the old session", () => {
  fc.assert(
    fc.property(treeArbitrary({ own: true }), treeArbitrary({ own: true }), (one, more) => {
      const { session } = history(one);
      const page = new SessionPage(session);
      page.data();
      history(more, session);
      expect(page.data()).toEqual(new SessionPage(session).data());
      const other = history(more).session;
      expect(page.reopen(other).data()).toEqual(new SessionPage(other).data());
    }),
  );
});
