import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type ToolFolder, textOf, toolFolder } from "./tool-folder.ts";

/** A project on a machine without ripgrep. */
function withoutRipgrep(files: Record<string, string | Buffer>): ToolFolder {
  const folder = toolFolder({ env: { PATH: "" } });
  for (const [name, content] of Object.entries(files)) folder.write(name, content);
  return folder;
}

const files = {
  "src/a.ts": "one\nfind me\nthree\nfind me too\n",
  "src/deep/b.md": "Find it\r\nor a(b)\r\n",
  "notes.txt": "nothing here\n",
  ".gitignore": "dist/\n*.log\n!keep.log\n",
  "dist/out.ts": "find me\n",
  "debug.log": "find me\n",
  "keep.log": "find me\n",
  ".hidden": "find me\n",
  ".git/config": "find me\n",
  "wide.txt": Buffer.from("\ufefffind wide\n", "utf16le"),
};

/** Shortens all time limits to a fortieth. @returns the requested limits */
function hurry(): number[] {
  const askedMs: number[] = [];
  const { timeout } = AbortSignal;
  const spy = vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
    askedMs.push(ms);
    return timeout.call(AbortSignal, ms / 40);
  });
  onTestFinished(() => spy.mockRestore());
  return askedMs;
}

describe("without ripgrep", () => {
  const searches: [string, Record<string, unknown>, string[]][] = [
    [
      "leaves out what is ignored or git's",
      { pattern: "find" },
      [
        ".hidden:1: find me",
        "keep.log:1: find me",
        "src/a.ts:2: find me",
        "src/a.ts:4: find me too",
        "wide.txt:1: find wide",
      ],
    ],
    ["can ignore case", { pattern: "FIND IT", ignoreCase: true }, ["src/deep/b.md:1: Find it"]],
    ["takes (?i) as ripgrep does", { pattern: "(?i)FIND IT" }, ["src/deep/b.md:1: Find it"]],
    ["takes text as it is", { pattern: "a(b)", literal: true }, ["src/deep/b.md:2: or a(b)"]],
    ["looks into one file", { pattern: "F", path: "src/deep/b.md" }, ["src/deep/b.md:1: Find it"]],
    ["looks into a folder", { pattern: "^one", path: "src" }, ["src/a.ts:1: one"]],
    [
      "looks into an ignored folder when told to",
      { pattern: "find", path: "dist" },
      ["dist/out.ts:1: find me"],
    ],
    ["takes a glob for names", { pattern: "i", glob: "*.md" }, ["src/deep/b.md:1: Find it"]],
    ["takes a glob for paths", { pattern: "one|it", glob: "src/*" }, ["src/a.ts:1: one"]],
    [
      "takes a glob of what not",
      { pattern: "find", glob: "!*.{log,txt}" },
      [".hidden:1: find me", "src/a.ts:2: find me", "src/a.ts:4: find me too"],
    ],
    [
      "shows lines around, joined where they touch",
      { pattern: "find", context: 1, glob: "{a.ts,keep.log}" },
      [
        "keep.log:1: find me",
        "--",
        "src/a.ts-1- one",
        "src/a.ts:2: find me",
        "src/a.ts-3- three",
        "src/a.ts:4: find me too",
      ],
    ],
    ["says that nothing was found", { pattern: "absent" }, ["No matches in the working folder."]],
  ];
  test("grep finds lines by pattern, glob, path and case", async () => {
    for (const [name, input, expected] of searches) {
      using folder = withoutRipgrep(files);
      expect.soft(textOf(await folder.run("grep", input)).split("\n"), name).toEqual(expected);
    }
  });

  test("says how many more there are", async () => {
    using folder = withoutRipgrep({ a: "x\n".repeat(250), b: "x\n" });
    const lines = textOf(await folder.run("grep", { pattern: "x" })).split("\n");
    expect([lines.length, lines[99], lines[100]]).toEqual([
      101,
      "a:100: x",
      "[151 more matches. Narrow the pattern, the path or the glob, or raise limit.]",
    ]);
  });

  test("stops counting after a thousand", async () => {
    using folder = withoutRipgrep({ a: "x\n".repeat(5_000) });
    const text = textOf(await folder.run("grep", { pattern: "x" }));
    expect(text).toContain("[More than 1,000 more matches.");
  });

  test("50 KB are the most", async () => {
    using folder = withoutRipgrep({ a: `${"x".repeat(400)}\n`.repeat(500) });
    const text = textOf(await folder.run("grep", { pattern: "x", limit: 500 }));
    expect(Buffer.byteLength(text)).toBeLessThan(51 * 1024);
    expect(text).toMatch(/\[\d+ more matches\./);
  });

  test("shows the text around the match in a long line", async () => {
    using folder = withoutRipgrep({ a: `${"x".repeat(9_000)}find${"y".repeat(9_000)}\n` });
    expect(textOf(await folder.run("grep", { pattern: "find" }))).toBe(
      `a:1: …${"x".repeat(100)}find${"y".repeat(396)}…`,
    );
  });

  const badPatterns = [
    ["a pattern that is none", "(", 'Invalid pattern "("'],
    ["a line break", "a\nb", "grep searches line by line"],
    ["a written line break", "a\\nb", "grep searches line by line"],
  ] as const;
  test("refuses a pattern that is none or has a line break", async () => {
    for (const [name, pattern, expected] of badPatterns) {
      using folder = withoutRipgrep(files);
      await expect.soft(folder.run("grep", { pattern }), name).rejects.toThrow(expected);
    }
  });

  test("breaks off a pattern that goes round in circles", async () => {
    using folder = withoutRipgrep({ a: `${"a".repeat(60)}b\n` });
    const askedMs = hurry();
    await expect(folder.run("grep", { pattern: "(a+)+$" })).rejects.toThrow(
      'The pattern "(a+)+$" takes too long on a: more than 2 seconds.',
    );
    expect(askedMs).toEqual([2_000]);
  });

  test("a pattern that goes round in circles leaves keys and signals their turn, and ends at an abort", async () => {
    using folder = withoutRipgrep({ a: `${"a".repeat(60)}b\n` });
    const abort = new AbortController();
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
      if (turns === 20) abort.abort(new Error("stopped by a key"));
    }, 1);
    const running = folder.run("grep", { pattern: "(a+)+$" }, { signal: abort.signal });
    await expect(running).rejects.toThrow("stopped by a key");
    // On a busy machine some more pass before the abort has come through.
    expect(turns).toBeGreaterThanOrEqual(20);
    clearInterval(timer);
  });

  test.each([
    ["(".repeat(5_000), /^Invalid pattern /],
    [`(?:${"(?:a{1,1000}){1,1000}".repeat(3)})x`, /Invalid pattern|takes too long|^No matches/],
    ["x".repeat(50_001), /^The pattern has 50,001 characters; the maximum is 50,000\./],
  ])("a bomb is an error, or ends", async (pattern, expected) => {
    using folder = withoutRipgrep({ a: `${"a".repeat(2_000)}b\n` });
    if (expected.test("takes too long")) hurry();
    const text = await folder.run("grep", { pattern }).then(textOf, (error: Error) => error.message);
    expect(text).toMatch(expected);
  });

  test("an abort ends the search", async () => {
    using folder = withoutRipgrep(files);
    await expect(folder.run("grep", { pattern: "x" }, { signal: AbortSignal.abort() })).rejects.toThrow();
  });
});

/** Output of ripgrep 13 for `find` with one line of context. */
const recorded = [
  '{"type":"begin","data":{"path":{"text":"./b.txt"}}}',
  '{"type":"match","data":{"path":{"text":"./b.txt"},"lines":{"text":"ü find\\r\\n"},"line_number":1,"absolute_offset":0,"submatches":[{"match":{"text":"find"},"start":3,"end":7}]}}',
  '{"type":"end","data":{"path":{"text":"./b.txt"},"binary_offset":null,"stats":{"elapsed":{"secs":0,"nanos":34943,"human":"0.000035s"},"searches":1,"searches_with_match":1,"bytes_searched":9,"bytes_printed":230,"matched_lines":1,"matches":1}}}',
  '{"type":"match","data":{"path":{"text":"./c.txt"},"lines":{"bytes":"ZmluZCD/Cg=="},"line_number":1,"absolute_offset":0,"submatches":[{"match":{"text":"find"},"start":0,"end":4}]}}',
  '{"type":"context","data":{"path":{"text":"./src/a.ts"},"lines":{"text":"one\\n"},"line_number":1,"absolute_offset":0,"submatches":[]}}',
  '{"type":"match","data":{"path":{"text":"./src/a.ts"},"lines":{"text":"find me\\n"},"line_number":2,"absolute_offset":4,"submatches":[{"match":{"text":"find"},"start":0,"end":4}]}}',
];

/** A project on a machine whose ripgrep is the script given. */
function withRipgrep(script: string): ToolFolder {
  const folder = toolFolder({ env: { PATH: "" } });
  const program = folder.write("bin/rg", `#!/bin/sh\nprintf '%s\\n' "$@" > arguments\n${script}\n`);
  chmodSync(program, 0o755);
  const withPath = toolFolder({ cwd: folder.path, env: { PATH: join(folder.path, "bin") } });
  return {
    ...folder,
    run: withPath.run,
    [Symbol.dispose]() {
      withPath[Symbol.dispose]();
      folder[Symbol.dispose]();
    },
  };
}

describe("with ripgrep", () => {
  test("the result has the same form", async () => {
    using folder = withRipgrep(
      `while read -r line; do printf '%s\\n' "$line"; done <<'END'\n${recorded.join("\n")}\nEND`,
    );
    const result = await folder.run("grep", { pattern: "find", context: 1, glob: "*.t*" });
    expect(textOf(result).split("\n")).toEqual([
      "b.txt:1: ü find",
      "--",
      "c.txt:1: find \ufffd",
      "--",
      "src/a.ts-1- one",
      "src/a.ts:2: find me",
    ]);
    const given = readFileSync(join(folder.path, "arguments"), "utf8").trim().split("\n");
    expect(given).toEqual(
      expect.arrayContaining(["--json", "--context=1", "--type-add=wanted:*.t*", "--regexp=find"]),
    );
  });

  const complaints = [
    ["regex parse error:\n    (\n    ^", 'Invalid pattern "x": regex parse error'],
    ["error parsing glob '{'", 'Invalid glob "{"'],
  ] as const;
  test("reports a complaint of ripgrep as an error", async () => {
    for (const [complaint, expected] of complaints) {
      using folder = withRipgrep(`printf '%s\\n' "${complaint}" >&2; exit 2`);
      await expect.soft(folder.run("grep", { pattern: "x", glob: "{" }), complaint).rejects.toThrow(expected);
    }
  });

  test("names unreadable files beside the matches", async () => {
    using folder = withRipgrep(
      `printf '%s\\n' '${recorded[5]}'; echo "./closed: Permission denied" >&2; exit 2`,
    );
    expect(textOf(await folder.run("grep", { pattern: "find" }))).toBe(
      "src/a.ts:2: find me\n[ripgrep reported: ./closed: Permission denied]",
    );
  });

  test("a line that no memory could hold is named, and those after it are shown", async () => {
    const head = '{"type":"match","data":{"path":{"text":"./min.js"},"lines":{"text":"a"},"line_number":7,';
    using folder = withRipgrep(
      `printf '%s' '${head}"submatches":"'; head -c 17000000 /dev/zero | tr '\\0' a; printf '"}}\\n%s\\n' '${recorded[5]}'`,
    );
    const lines = textOf(await folder.run("grep", { pattern: "find" })).split("\n");
    expect(lines).toEqual([expect.stringMatching(/^min\.js:7: .*too long to show/), "src/a.ts:2: find me"]);
  });

  test.each([
    ["src/*.ts", ["src/a.ts:2: find me"]],
    ["**/*.txt", ["b.txt:1: ü find", "c.txt:1: find \ufffd"]],
    ["!*.txt", ["src/a.ts:2: find me"]],
  ])(
    "the glob %s, which could bring back ignored files, is looked at in what comes out",
    async (glob, expected) => {
      using folder = withRipgrep(
        `while read -r line; do printf '%s\\n' "$line"; done <<'END'\n${recorded.join("\n")}\nEND`,
      );
      const result = await folder.run("grep", { pattern: "find", glob });
      expect(
        textOf(result)
          .split("\n")
          .filter((line) => line.includes("find")),
      ).toEqual(expected);
      expect(folder.text("arguments")).not.toMatch(/--glob=[^!]|--glob=!(?!\.git$)/m);
    },
  );

  test("an abort ends it", async () => {
    using folder = withRipgrep("while :; do printf '%s\\n' '{\"type\":\"begin\"}'; done");
    const abort = new AbortController();
    const running = folder.run("grep", { pattern: "x" }, { signal: abort.signal });
    setImmediate(() => abort.abort());
    await expect(running).rejects.toThrow();
  });
});

test("searches a text with NUL bytes and shows them", async () => {
  using folder = withoutRipgrep({
    "app.log": "one\nfind me\0here\n",
    "names.txt": "./a find\0./b\0",
    "picture.png": Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rfind\x01\x02\0", "latin1"),
  });
  expect(textOf(await folder.run("grep", { pattern: "find" }))).toBe(
    "app.log:2: find me␀here\nnames.txt:1: ./a find␀./b␀\n[Not searched: 1 binary file.]",
  );
  expect(textOf(await folder.run("grep", { pattern: "find", path: "picture.png" }))).toBe(
    "No matches in picture.png.\n[Not searched: 1 binary file.]",
  );
});
