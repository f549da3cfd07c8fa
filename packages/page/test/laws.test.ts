import { branchDiff, compactionSettings } from "@bonsai-agent/compaction";
import type { Session } from "@bonsai-agent/session";
import { history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readData, sentData } from "../src/columns.ts";
import { compareRows } from "../src/compare.ts";
import { SessionPage } from "../src/session-page.ts";
import { viewRows } from "../src/view.ts";

const settings = compactionSettings({}, { estimator: "chars4" });

function pageOf(session: Session) {
  const page = new SessionPage(session);
  const data = page.data();
  const bodies = new Map(
    data.chunks.flatMap((place) => page.bodies(place).map((body, at) => [place.first + at, body])),
  );
  return { data, bodies };
}

function pathTo(parents: readonly number[], row: number): number[] {
  return row < 0 ? [] : [...pathTo(parents, parents[row]!), row];
}

test("what a page says that a model saw is the projection there", () => {
  fc.assert(
    fc.property(treeArbitrary({ own: true }), (notation) => {
      const { session } = history(notation);
      const { data } = pageOf(session);
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

test("what is sent of a page is read as it was", () => {
  fc.assert(
    fc.property(treeArbitrary({ own: true }), (notation) => {
      const data = new SessionPage(history(notation).session).data();
      expect(readData(JSON.parse(JSON.stringify(sentData(data))))).toEqual(data);
    }),
  );
});

test("two entries compared are what branchDiff tells", () => {
  fc.assert(
    fc.property(treeArbitrary({ own: true }), fc.nat(), fc.nat(), (notation, one, other) => {
      const { session } = history(notation);
      const { data, bodies } = pageOf(session);
      const { ids } = data.rows;
      if (ids.length === 0) return;
      const [a, b] = [one % ids.length, other % ids.length];
      const told = compareRows(data, a, b, bodies);
      const diff = branchDiff({ session, settings, a: ids[a]!, b: ids[b]! });
      expect(told).toMatchObject({
        relation: diff.relation,
        commonEntries: diff.commonEntries,
        sharedFiles: diff.sharedFiles,
      });
      expect(ids[told.commonAncestor]).toBe(diff.commonAncestor?.id);
      for (const side of ["a", "b"] as const) {
        expect(told[side].rows.map((row) => ids[row])).toEqual(diff[side].entries.map(({ id }) => id));
        expect(told[side].turns).toBe(diff[side].turns);
        const { created, modified, read } = told[side];
        expect({ created, modified, read }).toEqual(diff[side].files);
        expect(told[side].commands.map(({ text, state, row }) => [text, state, ids[row]])).toEqual(
          diff[side].commands.map(({ command, state, entryId }) => [command, state, entryId]),
        );
        expect(told[side].compactions.map(({ row, isUndone }) => [ids[row], isUndone])).toEqual(
          diff[side].compactions.map(({ entryId, isUndone }) => [entryId, isUndone]),
        );
        expect(ids[told[side].lastAnswer]).toBe(diff[side].lastAnswer?.entryId);
      }
    }),
  );
});

test("a page that reads on knows what a page made anew does, and nothing of another session", () => {
  fc.assert(
    fc.property(treeArbitrary({ own: true }), treeArbitrary({ own: true }), (one, more) => {
      const { session } = history(one);
      const page = new SessionPage(session);
      page.data();
      history(more, session);
      expect(page.data()).toEqual(new SessionPage(session).data());
      const other = history(more).session;
      expect(page.reopened(other).data()).toEqual(new SessionPage(other).data());
    }),
  );
});
