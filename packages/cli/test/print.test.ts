import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listSessions, openSession } from "@bonsai-agent/session";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { agentProject, jsonLines, says } from "./agent-project.ts";
import { runCli } from "./run-cli.ts";

const looks = {
  contextWindow: 100_000,
  turn: [
    { text: "I will look.", calls: [{ name: "read", arguments: { path: "a.md" } }] },
    { text: "It says hello.\n\n" },
  ],
};

/** Its window is full after a few prompts, and nobody summarises. */
const unsummarised = {
  ...says("on"),
  contextWindow: 20_000,
  maxOutputTokens: 2_000,
  summary: [{ error: { status: 400, message: "no" } }],
};
const long = "lorem ipsum dolor ".repeat(1_300);

describe("bonsai -p", () => {
  test("prints the final answer alone on stdout, and progress on stderr", async () => {
    const { run } = agentProject(looks, { "a.md": "hello\n" });
    const { code, stdout, stderr } = await run(["-p", "what does a.md say?"]);
    expect([code, stdout]).toEqual([0, "It says hello.\n"]);
    expect(stderr).toContain("· read a.md\n");
    expect(stderr).toMatch(/tokens in, \d+ out, free of charge · bonsai -r [0-9a-f-]{36}\n$/);
    expect(stderr).not.toContain("I will look.");
  });

  test("a failed tool is reported, and a quiet run reports nothing", async () => {
    const noisy = await agentProject(looks).run(["-p", "look"]);
    expect(noisy.stderr).toMatch(/✗ read a\.md: /);
    const quiet = await agentProject(looks).run(["-q", "look"]);
    expect(quiet).toEqual({ code: 0, stdout: "It says hello.\n", stderr: "" });
  });

  test("a failed command shows its last line and exit code", async () => {
    const command = "echo one; echo two; echo 'no such thing'; exit 3";
    const fails = {
      contextWindow: 100_000,
      turn: [{ calls: [{ name: "bash", arguments: { command } }] }, { text: "!" }],
    };
    const { stderr } = await agentProject(fails).run(["-p", "try"]);
    expect(stderr).toMatch(/✗ bash echo one.*: no such thing \[Exit code 3\.\]\n/);
  });

  test("on a terminal, all answers are shown as they come, and steer no terminal", async () => {
    const evil = { contextWindow: 100_000, turn: [{ text: "one \u001b[2Jtwo 😀\n", chunkChars: 1 }] };
    const { stdout } = await agentProject(evil).run(["hi"], { columns: 80 });
    expect(stdout).toBe("one ␛[2Jtwo 😀\n");
    const { stdout: both } = await agentProject(looks, { "a.md": "" }).run(["hi"], { columns: 80 });
    expect(both).toBe("I will look.\nIt says hello.\n\n");
  });

  test("on a terminal, a restarted answer begins on its own line", async () => {
    const play = {
      contextWindow: 100_000,
      turn: [{ text: "half an answer", cut: true }, { text: "a whole one" }],
    };
    const { run, home } = agentProject(play);
    writeFileSync(join(home, "settings.json"), JSON.stringify({ retry: { maxDelayMs: 1 } }));
    const { stdout } = await run(["-q", "hi"], { columns: 80 });
    expect(stdout).toMatch(/^half [a-z ]*\na whole one\n$/);
  });

  test("words need no -p, and flags may stand among them", async () => {
    const { run, cwd, home } = agentProject(says("yes"));
    expect(await run(["make", "it", "--name", "the task", "work"])).toMatchObject({
      code: 0,
      stdout: "yes\n",
    });
    const [session] = listSessions({ cwd, home }).sessions;
    expect([session?.firstWords, session?.name]).toEqual(["make it work", "the task"]);
  });

  test("the session's file is made by the prompt, with the user's message before the answer", async () => {
    const { run, cwd, home } = agentProject(says("yes"));
    await run(["-p", "hello"]);
    const { file } = listSessions({ cwd, home }).sessions[0]!;
    const roles = openSession(file)
      .projection()
      .items.map(({ message }) => message.role);
    expect(roles).toEqual(["user", "assistant"]);
    expect(readFileSync(file, "utf8").split("\n")[0]).toContain(JSON.stringify(cwd));
  });

  test("a model that refuses is an error with code and hint, and exit code 1", async () => {
    const refusing = { contextWindow: 100_000, turn: [{ error: { status: 401, message: "no such key" } }] };
    const { code, stdout, stderr } = await agentProject(refusing).run(["-p", "hi"]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("no such key");
    expect(stderr).toContain("[model_failed]");
  });

  test("an interrupted run ends with 130", async () => {
    const { run } = agentProject({
      contextWindow: 100_000,
      turn: [{ calls: [{ name: "ls" }] }, { text: "slow", delayMs: 60_000 }],
    });
    const stop = new AbortController();
    const onOutput = (text: string) => {
      if (text.startsWith("· ls")) stop.abort();
    };
    expect((await run(["-p", "hi"], { signal: stop.signal, onOutput })).code).toBe(130);
  });

  test("a signal that comes before the prompt sends nothing", async () => {
    const { run } = agentProject(says("no"));
    const { code, stdout } = await run(["-p", "hi"], { signal: AbortSignal.abort() });
    expect([code, stdout]).toEqual([130, ""]);
  });

  test("a context that cannot be compacted prints one error", async () => {
    const { run } = agentProject({ ...says("never"), contextWindow: 20_000, maxOutputTokens: 2_000 });
    const { code, stdout, stderr } = await run(["-p", "word ".repeat(40_000)]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^✗ /);
    expect(stderr.match(/Your message was not sent/g)).toHaveLength(1);
    expect(stderr).not.toContain("Auto-compacting");
    expect(stderr).not.toContain("Not compacted");
  });

  test("a failed summary is reported with the compaction, and the task continues", async () => {
    const { run } = agentProject(unsummarised);
    for (const flags of [[], ["-c"], ["-c"]]) await run([...flags, long]);
    const { code, stdout, stderr } = await run(["-c", long]);
    expect([code, stdout]).toEqual([0, "on\n"]);
    expect(stderr).toMatch(
      /^Compacted: .*\nUsed the built-in digest because the model's summary failed: no\.$/m,
    );
    expect(stderr).not.toContain("Compaction failed");
  });

  test("a failed compaction is reported once, and the task continues", async () => {
    const { run, home } = agentProject(unsummarised);
    writeFileSync(join(home, "settings.json"), '{"compaction": {"summarizer": {"fallback": "never"}}}');
    for (const flags of [[], ["-c"], ["-c"]]) await run([...flags, long]);
    const { code, stdout, stderr } = await run(["-c", long]);
    expect([code, stdout]).toEqual([0, "on\n"]);
    expect(stderr.match(/Compaction failed/g)).toHaveLength(1);
    expect(stderr).toContain("Auto-compacting…\n! Compaction failed. Causes: summarise: no. ");
  });

  test("a session that could not be made is not offered to go on with", async () => {
    const { run, home } = agentProject(says("never"));
    writeFileSync(join(home, "sessions"), "in the way");
    const { code, stdout, stderr } = await run(["-p", "hi"]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("[session_not_created]");
    expect(stderr).not.toContain("bonsai -r");
  });

  test("results far above the window are shortened before they are sent, and each mode says so", async () => {
    const text = Array.from({ length: 2_000 }, (_, line) => `line ${line} of it\n`).join("");
    const names = ["a", "b", "c", "d"].map((name) => `${name}.txt`);
    const calls = names.map((path) => ({ name: "read", arguments: { path } }));
    const play = {
      ...says("ok"),
      turn: [{ calls }, { text: "ok" }],
      contextWindow: 16_000,
      maxOutputTokens: 1_000,
    };
    const { run } = agentProject(play, Object.fromEntries(names.map((name) => [name, text])));
    const { code, stdout, stderr } = await run(["-p", "read them"]);
    expect([code, stdout]).toEqual([0, "ok\n"]);
    expect(stderr).toMatch(/Shortened the context: ~?[\d,]+ → ~[\d,]+ tokens\. Shortened 4 messages\./);
    expect(stderr).not.toContain("overflow");
    const json = await run(["--mode", "json", "read them"]);
    const ends = jsonLines(json.stdout).filter(({ type }) => type === "auto_compaction_end");
    expect(ends).toMatchObject([{ outcome: { status: "masked", steps: { shortened: 4 } } }]);
  });

  test("an overflow is recovered from before the process ends", async () => {
    const long = "word ".repeat(40_000);
    const play = { ...says("ok"), contextWindow: 60_000, maxOutputTokens: 2_000 };
    const { run } = agentProject(play);
    await run(["-p", long], { env: { BONSAI_DISABLE_AUTOCOMPACT: "1" } });
    const { code, stdout, stderr } = await run(["-c", long.slice(1)], {
      env: { BONSAI_DISABLE_AUTOCOMPACT: "1" },
    });
    expect([code, stdout]).toEqual([0, "ok\n"]);
    expect(stderr).toContain("Context overflow detected, Auto-compacting…");
    expect(stderr).toMatch(/Compacted: ~?[\d,]+ → ~[\d,]+ tokens\./);
  });
});

describe("piped input", () => {
  test("is the prompt, or follows the prompt's words", async () => {
    const { run, cwd, home } = agentProject(says("ok"));
    const words = () => listSessions({ cwd, home }).sessions.map(({ firstWords }) => firstWords);
    expect((await run(["-p"], { stdin: "explain this\n" })).code).toBe(0);
    expect(words()).toEqual(["explain this"]);
    await run(["-p", "what is wrong?"], { stdin: "line 1\nline 2\n" });
    expect(words()).toContain("what is wrong?");
    const sessions = listSessions({ cwd, home }).sessions.map(({ file }) => readFileSync(file, "utf8"));
    expect(sessions.join()).toContain("what is wrong?\\n\\n<stdin>\\nline 1\\nline 2\\n</stdin>");
  });

  test("empty input is no prompt", () =>
    everyRow([
      [["-p"], undefined],
      [["-p"], ""],
      [["-c"], "  \n"],
      [["--mode", "json"], undefined],
    ])(async ([argv, stdin]) => {
      const { code, stderr } = await agentProject(says("no")).run(argv, stdin === undefined ? {} : { stdin });
      expect(code).toBe(2);
      expect(stderr).toContain("no_prompt");
    }));

  test("`bonsai` with an empty pipe prints the overview", async () => {
    const { code, stdout } = await runCli([], { stdin: "" });
    expect(code).toBe(0);
    expect(stdout).toContain("Commands");
  });

  test("binary bytes and too long texts are refused", async () => {
    const { run } = agentProject(says("no"));
    const bytes = (async function* () {
      yield Buffer.from([0xff, 0xfe, 0x00]);
    })();
    expect((await run(["-p"], { stdin: bytes })).stderr).toContain("input_not_text");
    expect((await run(["-p"], { stdin: "a\0b" })).stderr).toContain("input_not_text");
    expect((await run(["-p"], { stdin: "x".repeat(4_000_001) })).stderr).toContain("input_too_large");
  });
});

describe("words that are nearly a command", () => {
  test("a probable typo of a command is not sent", () =>
    everyRow([
      [["shwo"], "Did you mean session show?"],
      [["compcat"], "Did you mean compact?"],
      [["--json", "sesions"], "Did you mean session list?"],
      [["tre", "package.json"], "Did you mean session tree?"],
      [["undoo", "--help"], "Did you mean session undo?"],
      [["comapct", "no-such-file"], "Did you mean compact?"],
      [["comapct", "a", "session", "--dry-run"], "Did you mean compact?"],
      [["COMPACT", "no-such-file"], "Did you mean compact?"],
      [["gotoo", "no-such-file", "36306277"], "Did you mean session goto?"],
      [["serch", "rounding"], "Did you mean search?"],
    ])(async ([argv, words]) => {
      const { code, stderr } = await runCli(argv, { cwd: join(import.meta.dirname, "..") });
      expect(code).toBe(2);
      expect(stderr.replaceAll(/\s+/g, " ")).toContain(words);
    }));

  test("other words are a prompt", () =>
    everyRow([[["-p", "shwo"]], [["hello"]], [["shwo", "me", "the", "tests"]], [["-c", "tre"]]])(
      async ([argv]) => {
        const { run } = agentProject(says("fine"));
        await run(["first of all"]);
        expect((await run(argv)).stdout).toBe("fine\n");
      },
    ));
});

describe("flags that cannot be", () => {
  test("an impossible combination or value is wrong usage", () =>
    everyRow([
      [["-p", "x", "-c", "--session", "y"], "wrong_usage", "cannot be used with"],
      [["-p", "x", "-c", "--no-session"], "wrong_usage", "cannot be used with"],
      [["-p", "x", "--mode", "xml"], "wrong_usage", "text, json, rpc"],
      [["-p", "x", "--thinking", "hard"], "wrong_usage", "--thinking"],
      [["-p", "x", "--tools", " , "], "wrong_usage", "--tools none"],
      [["-p", "x", "--name", "  "], "wrong_usage", "must not be empty"],
      [["-p", "x", "--leaf", "abc"], "wrong_usage", "--fork"],
      [["--mode", "rpc", "x"], "wrong_usage", "prompts on stdin"],
      [["-p", "x", "--frobnicate"], "wrong_usage", "Unknown option"],
    ])(async ([argv, code, words]) => {
      const { code: exit, stderr } = await runCli(argv, { cwd: import.meta.dirname });
      expect(exit).toBe(2);
      expect(stderr.replaceAll(/\s+/g, " ")).toContain(words);
      expect(stderr).toContain(code);
    }));

  test("-c without sessions and an unknown model are errors", async () => {
    const { run, cwd, env } = agentProject(says("no"));
    expect((await run(["-c", "x"])).stderr).toContain("nothing_to_continue");
    const unknown = await runCli(["-p", "x", "--model", "nobody/nothing"], { cwd, env });
    expect([unknown.code, unknown.stdout]).toEqual([1, ""]);
    expect(unknown.stderr).toContain("provider_unknown");
  });
});
