import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import type { BashDetails } from "../../src/tools/bash-tool.ts";
import { OutputRecord } from "../../src/tools/command-output.ts";
import { maskedText } from "../../src/tools/mask-keys.ts";
import { expectSaved } from "./saved-output.ts";
import { textOf, toolFolder } from "./tool-folder.ts";

describe("a command", () => {
  const commands: [string, string, string, boolean][] = [
    [
      "has both outputs in their order",
      "for i in 1 2; do echo o$i; echo e$i >&2; done",
      "o1\ne1\no2\ne2",
      false,
    ],
    ["runs in the project", "basename $PWD", "project", false],
    ["runs in bash", "[[ ab == a* ]] && echo yes", "yes", false],
    ["may say nothing", "true", "(no output)", false],
    ["tells its exit code", "echo no; exit 3", "no\n[Exit code 3.]", true],
    ["tells what it is not", "nosuchprogram 2>/dev/null", "(no output)\n[Exit code 127.]", true],
    ["tells the signal that ended it", "kill -9 $$", "(no output)\n[Ended by signal SIGKILL.]", true],
    ["has no input", "cat; read x || echo none", "none", false],
    ["has no terminal", "test -t 0 || test -t 1 || (: < /dev/tty) 2>/dev/null || echo none", "none", false],
    ["is not asked by git or a pager", "echo $GIT_TERMINAL_PROMPT $PAGER $TERM", "0 cat dumb", false],
    ["keeps quotes and line breaks", "echo \"a 'b'\"\necho '$c'", "a 'b'\n$c", false],
  ];
  test("runs in the project's shell without input, and its result has output and ending", async () => {
    for (const [name, command, expected, isError] of commands) {
      using folder = toolFolder();
      const result = await folder.run("bash", { command });
      expect.soft([textOf(result), result.isError], name).toEqual([expected, isError]);
    }
  });

  test("says what is wrong with its syntax", async () => {
    using folder = toolFolder();
    expect(textOf(await folder.run("bash", { command: "if then" }))).toContain("syntax error");
  });

  test("inherits the environment it is given", async () => {
    using folder = toolFolder({ env: { PATH: process.env.PATH, GREETING: "hello" } });
    expect(textOf(await folder.run("bash", { command: "echo $GREETING" }))).toBe("hello");
  });

  test("can use the keys of the environment; where it prints one, its name is shown and kept", async () => {
    const key = "sk-0123456789abcdef";
    const env = { PATH: process.env.PATH, MY_API_KEY: key, SHORT_TOKEN: "yes" };
    using folder = toolFolder({ env });
    const seen: string[] = [];
    const onUpdate = (text: string) => seen.push(text);
    const command =
      'echo "$(printenv MY_API_KEY | wc -c) $MY_API_KEY $SHORT_TOKEN"; seq 3000; env | grep KEY=';
    const result = await folder.run("bash", { command }, { onUpdate });
    const { fullOutputPath } = result.details as BashDetails;
    const kept = readFileSync(fullOutputPath!, "utf8").split("\n");
    expect([kept.at(0), kept.at(-2)]).toEqual(["20 [MY_API_KEY] yes", "MY_API_KEY=[MY_API_KEY]"]);
    expect(textOf(result)).toMatch(/MY_API_KEY=\[MY_API_KEY\]$/);
    expect(seen.join("")).not.toContain(key);
    rmSync(fullOutputPath!);
  });

  test("a key is masked wherever the pieces of an output are cut, and nothing else is lost", () => {
    const secrets = [
      { name: "one", value: "sk-0123456789abcdef" },
      { name: "two", value: "sk-0123456789abcdef-and-more" },
      { name: "three", value: "abcdef-x-0123456789" },
      { name: "short", value: "sk-0" },
    ];
    const text = "a sk-0123456789abcde sk-0123456789abcdef, sk-0123456789abcdef-and-more sk-";
    for (let cut = 0; cut <= text.length; cut++) {
      for (const pieces of [[text.slice(0, cut), text.slice(cut)], [...text]]) {
        const masked = maskedText(secrets);
        const shown = pieces.map((piece) => masked.push(piece)).join("") + masked.end();
        expect(shown).toBe("a sk-0123456789abcde [one], [two] sk-");
      }
    }
  });

  test("is shown while it runs", async () => {
    using folder = toolFolder();
    execFileSync("mkfifo", [join(folder.path, "gate")]);
    const seen: string[] = [];
    const onUpdate = (text: string) => {
      if (seen.length === 0) writeFileSync(join(folder.path, "gate"), "go\n");
      seen.push(text);
    };
    await folder.run("bash", { command: "echo first; read x < gate; echo second" }, { onUpdate });
    expect(seen[0]).toBe("first\n");
  });

  test.each<[string, () => Record<string, unknown>, string]>([
    ["a NUL", () => ({ command: "echo a\0b" }), "The command contains a NUL character."],
    ["too long a text", () => ({ command: `echo ${"x".repeat(130_000)}` }), "the maximum is 123 kB"],
  ])("is refused with %s", async (_name, input, expected) => {
    using folder = toolFolder();
    await expect(folder.run("bash", input())).rejects.toThrow(expected);
  });

  test("is refused when the project is gone", async () => {
    using folder = toolFolder();
    rmSync(folder.path, { recursive: true });
    await expect(folder.run("bash", { command: "true" })).rejects.toThrow("no longer exists");
  });

  test("is not started after an abort", async () => {
    using folder = toolFolder();
    const running = folder.run("bash", { command: "touch made" }, { signal: AbortSignal.abort() });
    await expect(running).rejects.toThrow();
    expect(existsSync(join(folder.path, "made"))).toBe(false);
  });
});

describe("output for a terminal", () => {
  const outputs = [
    ["colours", String.raw`printf '\033[31mred\033[0m\n'`, "red"],
    [
      "titles and links",
      String.raw`printf '\033]0;title\007a \033]8;;http://x\033\\b\033]8;;\033\\\n'`,
      "a b",
    ],
    ["a progress bar", String.raw`printf '10%%\r50%%\r100%%\nnext\n'`, "100%\nnext"],
    ["a bar that stands", String.raw`printf '10%%\r50%%\r'`, "50%"],
    ["CRLF", String.raw`printf 'a\r\nb\r\n'`, "a\nb"],
    ["overstruck bold", String.raw`printf 'N\bNA\bAME\n'`, "NAME"],
    ["bells and the like", String.raw`printf 'a\007\001b\n'`, "ab"],
    ["no end of the line", "printf 'a\nb'", "a\nb"],
    ["letters beyond ASCII", "printf 'grün 日本 👋\n'", "grün 日本 👋"],
    [
      "a broken character",
      String.raw`printf 'a long line of words, then \377\n'`,
      "a long line of words, then \ufffd",
    ],
  ] as const;
  test("is cleaned of controls, and keeps its text", async () => {
    for (const [name, command, expected] of outputs) {
      using folder = toolFolder();
      expect.soft(textOf(await folder.run("bash", { command })), name).toBe(expected);
    }
  });

  test("is not shown when it is binary", async () => {
    using folder = toolFolder();
    const command = String.raw`for i in $(seq 200); do printf '\000\001\002\377\376abc'; done`;
    expect(textOf(await folder.run("bash", { command }))).toContain("[The output is binary");
  });
});

describe("a long output", () => {
  test("is cut to its end, and all of it is in a file that read can show", async () => {
    using folder = toolFolder();
    const result = await folder.run("bash", { command: "seq 1 5000; exit 1" });
    const { fullOutputPath } = result.details as BashDetails;
    const lines = textOf(result).split("\n");
    expect(lines[0]).toBe(
      `[Cut: this is only the end of the output (5,000 lines, 23.9 kB). The full output is in ${fullOutputPath}: read or grep it.]`,
    );
    expect(lines.slice(1)).toEqual([...numbers(3_001, 5_000), "[Exit code 1.]"]);
    expect(readFileSync(fullOutputPath!, "utf8")).toBe(`${numbers(1, 5_000).join("\n")}\n`);
    const read = await folder.run("read", { path: fullOutputPath!, offset: 7, limit: 1 });
    expect(textOf(read)).toContain("7\n");
    const write = folder.run("write", { path: fullOutputPath!, content: "" });
    await expect(write).rejects.toThrow("is outside the project");
    rmSync(fullOutputPath!);
  });

  test("on one line is cut on a character", async () => {
    using folder = toolFolder();
    const command = "for i in $(seq 30000); do printf 'üü'; done; echo";
    const result = await folder.run("bash", { command });
    const [head, tail] = textOf(result).split("\n");
    expect(head).toContain("the end of the output (1 line, 120 kB)");
    expect(tail).toMatch(/^ü+$/);
    expect(tail!.length).toBeGreaterThan(25_000);
    rmSync((result.details as BashDetails).fullOutputPath!);
  });

  test("is not held in memory", async () => {
    using folder = toolFolder();
    const collect = garbageCollector();
    const heap = () => {
      collect();
      return process.memoryUsage().heapUsed;
    };
    const before = heap();
    let updates = 0;
    let highest = 0;
    const onUpdate = () => {
      updates += 1;
      // Measure rarely, because collecting garbage is slow.
      if (updates % 8 === 0) highest = Math.max(highest, heap() - before);
    };
    const result = await folder.run("bash", { command: "yes 0123456789 | head -c 20000000" }, { onUpdate });
    expect(textOf(result)).toContain("20 MB");
    expect(highest).toBeLessThan(8 << 20);
    rmSync((result.details as BashDetails).fullOutputPath!);
  });

  test("is saved up to a limit, and the result reports the missing rest", async () => {
    await expectSaved({ megabytes: 2, output: new OutputRecord(2 << 20) });
  });
});

function numbers(first: number, last: number): string[] {
  return Array.from({ length: last - first + 1 }, (_, index) => String(first + index));
}

/** Collects what nobody holds, so that the rest is what is held. */
function garbageCollector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc");
}

const nulOutputs = [
  ["printf './a b\\0./c\\0'", "./a b\n./c"],
  ["printf 'one\\0two\\n\\0three'", "one\ntwo\n\nthree"],
  ["printf 'a\\0\\nb'", "a\nb"],
  ["printf 'KEY=1\\0HOME=/x\\0'; echo end", "KEY=1\nHOME=/x\nend"],
] as const;

test("a NUL in an output ends a line", async () => {
  for (const [command, expected] of nulOutputs) {
    using folder = toolFolder();
    expect.soft(textOf(await folder.run("bash", { command })), command).toBe(expected);
  }
});
