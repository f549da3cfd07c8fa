import fc from "fast-check";
import { expect, test } from "vitest";
import { runCli } from "./run-cli.ts";
import { sampleLines, writeLines } from "./sample-session.ts";

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
  {},
  { a: { b: 1 } },
);

/** Every place in the entries of the sample where another value can stand, ids apart. */
const places = sampleLines().flatMap((line, at) => placesIn(line as Fields).map((path) => ({ at, path })));

function placesIn(value: Fields, path: readonly string[] = []): string[][] {
  return Object.entries(value).flatMap(([key, inner]) => {
    const here = [...path, key];
    const deeper = typeof inner === "object" && inner !== null ? placesIn(inner as Fields, here) : [];
    return key === "id" || key === "parentId" ? deeper : [here, ...deeper];
  });
}

function damagedFile(place: { at: number; path: readonly string[] }, value: unknown): string {
  const lines = structuredClone(sampleLines());
  let target = lines[place.at] as Fields;
  for (const key of place.path.slice(0, -1)) target = target[key] as Fields;
  target[place.path.at(-1)!] = value;
  return writeLines(lines);
}

const commands = [["show"], ["context"], ["tree"], ["tree", "--all"], ["compact", "--dry-run"]];

test("whatever stands in a field, a session is shown without a crash and without words of the machine", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...places),
      oddValue,
      fc.constantFrom(...commands),
      async (place, value, [name, ...flags]) => {
        fc.pre(place.at > 0);
        const { stdout, stderr } = await runCli([name!, damagedFile(place, value), ...flags], {
          columns: 80,
        });
        expect(stderr).not.toContain("unexpected_error");
        expect(stdout).not.toMatch(/undefined|NaN|\[object Object\]|native code/);
      },
    ),
    { numRuns: 400 },
  );
});

test.each(["constructor", "__proto__", "toString"])("a role %s is a word like any other", async (role) => {
  const file = damagedFile({ at: 1, path: ["message", "role"] }, role);
  for (const argv of [["tree", "--all"], ["show"], ["context", "--leaf", "aaaa0002"]]) {
    const { code, stdout } = await runCli([argv[0]!, file, ...argv.slice(1)], { columns: 80 });
    expect(code).toBe(0);
    if (argv[0] !== "context") expect(stdout).toContain(role);
  }
});
