import { everyRow } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { sampleLines, writeLines } from "./call/sample-session.ts";
import { runCli } from "./run-cli.ts";

type Fields = Record<string, unknown>;

const oddValue = fc.constantFrom<unknown>(
  null,
  true,
  7,
  -1,
  "",
  "constructor",
  "__proto__",
  "x\u001b[2J\n",
  [],
  [null, 1],
  1e300,
  {},
  { a: { b: 1 } },
);

const calibration = { ratio: 1.2, overheadTokens: 900, samples: 7 };
const last = (sampleLines().at(-1) as Fields).id as string;
const range = { count: 2, first: last, last };

/** The sample, and behind it what a compaction of ours keeps for the next one. */
const allLines = (): object[] => [
  ...sampleLines(),
  {
    type: "compaction",
    id: "dddd0001",
    parentId: last,
    timestamp: "2026-01-05T09:30:00.000Z",
    summary: "sum",
    firstKeptEntryId: last,
    tokensBefore: 900,
    details: {
      readFiles: ["a.ts"],
      modifiedFiles: ["b.ts"],
      recentFiles: ["b.ts"],
      prose: "sum",
      pinned: ["keep this"],
      latestRequest: { entryId: last, text: "Go on." },
      carryOver: { notes: ["n"] },
      manifest: {
        ...{
          reason: "manual",
          rung: "summarise",
          tokensBefore: 900,
          tokensAfter: 90,
          requests: 1,
          costUsd: 0.5,
        },
        ...{ splitTurn: false, summarised: range, turnPrefix: { count: 0 }, kept: range, masked: [last] },
        ...{ lost: { media: [], truncated: [last] }, previousCompactionId: "cccc0001", calibration },
        settings: { preset: "default", estimator: "calibrated", keepTokens: 500, reserveTokens: 30 },
        state: { provider: "p", modelId: "m", thinkingLevel: "low" },
      },
    },
  },
  ...[
    { type: "custom", customType: "bonsai.beside", data: { calibration, pinned: ["keep this"] } },
    { type: "message", message: { role: "user", content: `Go on. ${"word ".repeat(400)}`, timestamp: 1 } },
  ].map((entry, at) => ({
    ...entry,
    id: `dddd000${at + 2}`,
    parentId: `dddd000${at + 1}`,
    timestamp: "2026-01-05T09:31:00.000Z",
  })),
];

/** Every place in the entries of the sample where another value can stand, ids apart. */
const places = allLines().flatMap((line, at) => placesIn(line as Fields).map((path) => ({ at, path })));

function placesIn(value: Fields, path: readonly string[] = []): string[][] {
  return Object.entries(value).flatMap(([key, inner]) => {
    const here = [...path, key];
    const deeper = typeof inner === "object" && inner !== null ? placesIn(inner as Fields, here) : [];
    return key === "id" || key === "parentId" ? deeper : [here, ...deeper];
  });
}

function damagedFile(place: { at: number; path: readonly string[] }, value: unknown): string {
  const lines = structuredClone(allLines());
  let target = lines[place.at] as Fields;
  for (const key of place.path.slice(0, -1)) target = target[key] as Fields;
  target[place.path.at(-1)!] = value;
  return writeLines(lines);
}

const commands = [
  ["show"],
  ["context"],
  ["tree"],
  ["tree", "--all"],
  ["compact", "--dry-run"],
  ["compact", "--digest", "--keep", "1"],
];

test("a session with any value in a field is shown without a crash or internal words", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...places),
      oddValue,
      fc.constantFrom(...commands),
      async (place, value, [name, ...flags]) => {
        fc.pre(place.at > 0);
        const file = damagedFile(place, value);
        const { stdout, stderr } = await runCli([name!, file, ...flags], { columns: 80 });
        expect(stderr).not.toContain("unexpected_error");
        // The file's own folder has a random name, which may hold these letters.
        expect(stdout.replaceAll(file, "FILE")).not.toMatch(/undefined|NaN|\[object Object\]|native code/);
      },
    ),
  );
});

test("a role with the name of an object's property is a word like any other", () =>
  everyRow(["constructor", "__proto__", "toString"])(async (role) => {
    const file = damagedFile({ at: 1, path: ["message", "role"] }, role);
    for (const argv of [["tree", "--all"], ["show"], ["context", "--leaf", "aaaa0002"]]) {
      const { code, stdout } = await runCli([argv[0]!, file, ...argv.slice(1)], { columns: 80 });
      expect(code).toBe(0);
      if (argv[0] !== "context") expect(stdout).toContain(role);
    }
  }));
