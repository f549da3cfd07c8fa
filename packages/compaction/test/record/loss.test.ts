import { everyRow } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { checkLoss } from "../../src/carry/loss.ts";
import { recordAfter } from "../../src/carry/record.ts";
import type { SpanRecord } from "../../src/details.ts";
import { isMeasure } from "../../src/record/sentence.ts";
import type { SourceMessage } from "../../src/record/statements.ts";
import { ran, said } from "./run-messages.ts";

const user = (text: string, entryId: string) => said("user", text, entryId);
const recordOf = (messages: readonly SourceMessage[]): SpanRecord =>
  recordAfter({ messages, wordsTokens: 4_000 });

const span = recordOf([
  user(
    "Ship src/gateway/router.ts and src/shop/basket.ts.\n- [ ] write the changelog\n- [ ] tell the operators",
    "u1",
  ),
  ...ran("git push origin main", "", 0, "r1"),
  ...ran("npm publish --tag next", "", 0, "r2"),
  ...ran(
    "pnpm vitest run test/router.test.ts",
    "FAIL test/router.test.ts\nAssertionError: expected 3 to be 4",
    1,
    "r3",
  ),
  ...ran(
    "pnpm vitest run test/basket.test.ts",
    "FAIL test/basket.test.ts\nTypeError: basket.total is no function",
    1,
    "r4",
  ),
]);
/** A model's summary that lacks half of the facts. */
const HALF = `## Done
Pushed with \`git push origin main\`. src/gateway/router.ts is shipped.
## Open
\`pnpm vitest run test/router.test.ts\` fails: expected 3 to be 4. Still to do: write the changelog.`;

test("half a summary: what it left out is counted, and put back under a heading of its own", () => {
  const { report, lines } = checkLoss(span, { summary: HALF }, 500);
  expect(report).toMatchObject({
    failing: { kept: 1, lost: 1, putBack: 1 },
    irreversible: { kept: 1, lost: 1, putBack: 1 },
    openTodos: { kept: 1, lost: 1, putBack: 1 },
  });
  const back = lines.join("\n");
  for (const lost of [
    "test/basket.test.ts",
    "npm publish --tag next",
    "tell the operators",
    "src/shop/basket.ts",
  ])
    expect(back).toContain(lost);
  for (const kept of ["git push", "write the changelog", "test/router.test.ts"])
    expect(back).not.toContain(kept);
});

test("a fact whose words are in different places is lost", () => {
  const apart = [
    "The basket waits.",
    "vitest runs.",
    "test/basket.test.ts is new.",
    "It has a TypeError.",
    "The total is no function.",
  ].join("\n\nAnother line.\n\n");
  expect(checkLoss(span, { summary: `${HALF}\n${apart}` }, 0).report.failing).toMatchObject({
    kept: 1,
    lost: 1,
  });
});

/** A summary with all facts of the span, in a model's words. */
const RETOLD = `## Progress
### Done
- [x] src/gateway/router.ts is shipped, pushed to origin main (git push)
- npm publish, tag next
### Blocked
- vitest on test/router.test.ts: 3 instead of the expected 4
- basket.total is no function (TypeError, test/basket.test.ts)
## Next Steps
1. tell operators
2. changelog: write it`;

test("a fact in other words and another order counts as kept", () => {
  const { report } = checkLoss(span, { summary: RETOLD }, 0);
  expect(report).toMatchObject({ failing: { lost: 0 }, irreversible: { lost: 0 }, openTodos: { lost: 0 } });
});

test("a changed fact counts as lost", () =>
  everyRow<[string, string, string, "failing" | "irreversible" | "openTodos"]>([
    ["another file", "test/router.test.ts", "test/gateway.test.ts", "failing"],
    ["another number", "expected 4", "expected 5", "failing"],
    ["a failing command that passes", "### Blocked\n", "### Done\n", "failing"],
    [
      "a planned act",
      "- npm publish, tag next\n",
      "### In Progress\n- npm publish, tag next\n",
      "irreversible",
    ],
    ["another tag", "tag next", "tag latest", "irreversible"],
    ["a to-do that is done", "## Next Steps", "## Next Steps\n(none)\n### Done", "openTodos"],
  ])(([, before, after, kind]) => {
    expect(RETOLD).toContain(before);
    const { report } = checkLoss(span, { summary: RETOLD.replace(before, after) }, 0);
    expect(report[kind].lost).toBeGreaterThan(0);
  }));

const OPEN = { text: "Now rename parseHeader in src/gateway/router.ts, please.", entryId: "u9" };
const endingWith = (next: string) =>
  RETOLD.replace(/### Blocked[\s\S]*/, `### Blocked\n(none)\n## Next Steps\n${next}`);

test("a summary without open work hides the open request, in any language", () =>
  everyRow([
    ..."(none)|Nothing is open.|Zurzeit ist nichts offen.|未完了の作業はない。|Все задачи выполнены.|- لا شيء".split(
      "|",
    ),
  ])((next) => {
    const { report, lines } = checkLoss(span, { summary: endingWith(next), openRequest: OPEN }, 2_000);
    expect(report.requests).toEqual({ kept: 0, lost: 1, putBack: 1 });
    expect(lines.slice(1, 3)).toEqual(["Open requests:", `- ${OPEN.text} [u9]`]);
  }));

test("a next step about the request, about a to-do or with a name shows that work is open", () =>
  everyRow(["Please rename the function.", "1. src/cli.ts is next", "write the changelog"])((next) => {
    const { report } = checkLoss(span, { summary: endingWith(next), openRequest: OPEN }, 0);
    expect(report.requests).toEqual({ kept: 1, lost: 0, putBack: 0 });
  }));

test("all irreversible commands are put back, after the open work", () => {
  const acts = Array.from({ length: 40 }, (_, at) =>
    ran(`kubectl delete pod web-${at}`, "", 0, `r${at}`),
  ).flat();
  const failing = ran("make lint", "src/a.c:4: error: unused", 1, "f1");
  const { report, lines } = checkLoss(recordOf([...acts, ...failing]), { summary: "Nothing." }, 2_000);
  expect(report.irreversible).toEqual({ kept: 0, lost: 40, putBack: 40 });
  expect(lines.indexOf("Failing commands:")).toBeLessThan(lines.indexOf("Irreversible commands:"));
});

test("the user's words do not say how a command ended", () => {
  const carried =
    "1. Run `npm publish --tag next` and `pnpm vitest run test/basket.test.ts`. - [ ] tell the operators";
  const { report } = checkLoss(span, { summary: HALF, carried }, 0);
  expect(report).toMatchObject({ failing: { lost: 1 }, irreversible: { lost: 1 }, openTodos: { lost: 0 } });
});

test("without room nothing is put back, and what is lost is named", () => {
  const { report, lines } = checkLoss(span, { summary: HALF }, 0);
  expect(lines).toEqual([]);
  expect(report.failing).toEqual({ kept: 1, lost: 1, putBack: 0 });
  expect(report.lostTerms.map(({ term }) => term)).toContain("src/shop/basket.ts");
  expect(report.lostTerms.find(({ term }) => term === "src/shop/basket.ts")?.entryId).toBe("u1");
});

test("a summary that has all of it has lost nothing; one that says nothing, all", () => {
  const all = [...span.terms.uses.map(({ term }) => term), ...HALF.split("\n")].join("\n");
  const whole = `${all}\nnpm publish --tag next\npnpm vitest run test/basket.test.ts: basket.total is no function\ntell the operators`;
  const kept = checkLoss(span, { summary: whole }, 500);
  expect(kept.lines).toEqual([]);
  expect(kept.report.lostTerms).toEqual([]);
  expect(checkLoss(span, { summary: "" }, 0).report).toMatchObject({
    failing: { kept: 0, lost: 2 },
    irreversible: { kept: 0, lost: 2 },
    openTodos: { kept: 0, lost: 2 },
  });
});

test("a command is found again with another case and line break", () =>
  everyRow([
    ["marks and case", "Run `GIT Push   origin main` again"],
    ["a broken line", "git push\n  origin main"],
  ])(([, shown]) => {
    expect(checkLoss(span, { summary: shown }, 0).report.irreversible.kept).toBe(1);
  }));

test("a file that the index names tells nothing of the command that failed on it", () => {
  const index = ["[r4] test/basket.test.ts", "[u1] src/shop/basket.ts"];
  const { report } = checkLoss(span, { summary: HALF, index }, 0);
  expect(report.failing).toEqual({ kept: 1, lost: 1, putBack: 0 });
  expect(report.lostTerms.map(({ term }) => term)).not.toContain("src/shop/basket.ts");
});

const deed = fc.constantFrom(
  ...[
    "git push origin main",
    "npm publish",
    "git tag v1.2.0 && git push --tags",
    "kubectl delete pod web-1",
  ].map((command) => ran(command, "", 0, "r1")),
  ...["test/a.test.ts", "test/b.test.ts", "test/c.test.ts"].map((file) =>
    ran(`pnpm vitest run ${file}`, `FAIL ${file}\nAssertionError: ${file} expected 1 to be 2`, 1, "r2"),
  ),
  [user("- [ ] 写更新日志\n- [ ] den Schlüssel tauschen", "u1")],
  [user("Look at src/one.ts, src/two.ts and parseHeader.", "u2")],
);
const shown = fc.array(
  fc.constantFrom(
    "git push origin main",
    "写更新日志",
    "src/one.ts",
    "test/a.test.ts failed",
    "AssertionError",
    "npm publish",
    "nothing",
  ),
);

test("a longer name that holds a term does not show it; a path that ends in it does", () => {
  const record = recordOf([user("Leave src/total.ts alone.", "u1")]);
  const lost = (text: string) => checkLoss(record, { summary: text }, 0).report.terms.lost;
  expect(lost("src/total.tsx was changed.")).toBe(1);
  expect(lost("Left `/home/dev/shop/src/total.ts` alone.")).toBe(0);
  expect(lost("src/total.tsx stands beside src/total.ts.")).toBe(0);
});

test("law: counts add up, and what is put back is found when the check is run again", () => {
  const law = fc.property(
    fc.array(deed, { maxLength: 8 }),
    shown,
    fc.integer({ min: 0, max: 600 }),
    (deeds, words, tokens) => {
      const record = recordOf(deeds.flat());
      const context = words.join("\n");
      const { report, lines } = checkLoss(record, { summary: context }, tokens);
      const again = checkLoss(record, { summary: context, kept: lines.join("\n") }, 0).report;
      const { failing, irreversible, openTodos } = record.outcomes;
      const sizes = { failing, irreversible, openTodos, terms: record.terms.uses.slice(0, 100) };
      for (const kind of ["failing", "irreversible", "openTodos", "terms"] as const) {
        const { kept, lost, putBack } = report[kind];
        expect(kept + lost, kind).toBe(sizes[kind].length);
        expect(putBack, kind).toBeLessThanOrEqual(lost);
        expect(again[kind].kept, kind).toBeGreaterThanOrEqual(kept + putBack);
      }
      expect(report.lostTerms.length).toBe(Math.min(20, report.terms.lost - report.terms.putBack));
      if (lines.length > 0) expect(tokens).toBeGreaterThan(0);
    },
  );
  fc.assert(law);
});

test("a measure is no term that can be lost", () =>
  everyRow([
    ...[
      "1001",
      "165.967097",
      "12/40",
      "14:02:11",
      "2026-11-26",
      "2026-11-26T14:02:11.120Z",
      "99.5%",
      "250ms",
    ],
    ..."3h20m 4.6kB 1_000 10-20 L42 L42-L60 0x7ffee3b0".split(" "),
  ])((term) => {
    expect(isMeasure(term)).toBe(true);
  }));

test("an identifier is a term that can be lost", () =>
  everyRow([
    ..."1.2.3 v2.0 #1204 E1234 127.0.0.1 localhost:8080 src/a.ts:42 a1b2c3d db-12 utf8 i18n s3 HTTP2".split(
      " ",
    ),
  ])((term) => {
    expect(isMeasure(term)).toBe(false);
  }));
