import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { agentFlags } from "../src/grammar/flags.ts";
import { aliases, commandGroups, grammar } from "../src/grammar/grammar.ts";
import { sampleLines, writeLines } from "./call/sample-session.ts";
import { runCli } from "./run-cli.ts";

describe("the command line", () => {
  test("no words and each form of help print the overview", () =>
    everyRow([[], ["--help"], ["-h"], ["help"]])(async (argv) => {
      const { code, stdout } = await runCli(argv.flat(), { columns: 80 });
      expect(code).toBe(0);
      await expect(stdout).toMatchFileSnapshot("golden/overview-80.txt");
    }));

  test("a help flag among a prompt's flags prints the overview", () =>
    everyRow(
      [
        ["-p", "--help"],
        ["-h", "-p"],
        ["-c", "fix it", "-h"],
        ["--mode", "json", "--help"],
      ].map((argv) => [argv]),
    )(async ([argv]) => {
      const { code, stdout } = await runCli(argv);
      expect([code, stdout]).toEqual([0, (await runCli([])).stdout]);
    }));

  test("the overview is readable at 40 columns", async () => {
    const { stdout } = await runCli([], { columns: 40 });
    await expect(stdout).toMatchFileSnapshot("golden/overview-40.txt");
  });

  test("each command's help names every flag and has an example", () =>
    everyRow(grammar.map((command) => command.name))(async (name) => {
      const words = name.split(" ");
      const { code, stdout } = await runCli([...words, "--help"], { columns: 80 });
      expect(code).toBe(0);
      expect(stdout).toContain(`Usage: bonsai ${name} `);
      const form = grammar.find((command) => command.name === name)!;
      for (const { flags, hidden } of form.options ?? [])
        expect(stdout.includes(flags)).toBe(hidden !== true);
      for (const [example] of form.examples) expect(stdout).toContain(example);
      expect((await runCli(["help", ...words], { columns: 80 })).stdout).toBe(stdout);
    }));

  test("an alias shows the help of its command", () =>
    everyRow(aliases)(async ([alias, command]) => {
      const words = command.split(" ").filter((word) => !word.startsWith("-"));
      const { stdout } = await runCli([...words, "--help"]);
      expect(await runCli([...alias.split(" "), "--help"])).toEqual({ code: 0, stdout, stderr: "" });
      expect(await runCli(["help", ...alias.split(" ")])).toEqual({ code: 0, stdout, stderr: "" });
    }));

  test("a group alone lists its commands", () =>
    everyRow(commandGroups.map(({ name }) => name))(async (name) => {
      const { code, stdout } = await runCli([name], { columns: 80 });
      expect(code).toBe(0);
      for (const command of grammar.filter((form) => form.name.startsWith(`${name} `)))
        expect(stdout).toContain(`  ${command.name.slice(name.length + 1)} `);
      expect((await runCli([name, "--help"], { columns: 80 })).stdout).toBe(stdout);
      expect((await runCli(["help", name], { columns: 80 })).stdout).toBe(stdout);
      expect((await runCli([name, "--json"])).code).toBe(2);
    }));

  test("the overview has about ten commands and fits 40 lines", async () => {
    const { stdout } = await runCli([], { columns: 80 });
    expect(stdout.split("\n").length).toBeLessThanOrEqual(41);
    for (const [alias] of aliases) expect(stdout).not.toContain(`bonsai ${alias} `);
  });

  test("help flags lists every flag that is not hidden", async () => {
    const { code, stdout } = await runCli(["help", "flags"], { columns: 80 });
    expect(code).toBe(0);
    for (const { flags, hidden } of agentFlags)
      expect(stdout.includes(`  ${flags}\n`) || stdout.includes(`  ${flags}  `)).toBe(hidden !== true);
  });

  test("a mistake is wrong usage with a remedy", () =>
    everyRow([
      [["shwo"], "unknown_command", "Did you mean session show?"],
      [["hlep"], "unknown_command", "Did you mean help?"],
      [["sesion", "list"], "unknown_command", "Did you mean session?"],
      [["session", "tre"], "unknown_command", "Did you mean session tree?"],
      [["session", "handling", "is", "slow"], "unknown_command", "run `bonsai -p WORDS`"],
      [["login", "--forget"], "wrong_usage", "--forget needs a provider."],
      [["lab", "x", "--tune", "--policy", "pi"], "wrong_usage", "cannot be used with"],
      [["show"], "wrong_usage", "Missing required argument 'session'."],
      [["show", "a", "b"], "wrong_usage", "Too many arguments"],
      [["export", "all", "the", "data"], "wrong_usage", "run `bonsai -p WORDS`"],
      [["show", "--jsno", "x"], "wrong_usage", "Did you mean --json?"],
      [["context", "x", "--leaf"], "wrong_usage", "needs a value"],
      [["compact", "x", "--keep", "many"], "wrong_usage", "like 20000 or 20k"],
      [["compact", "x", "--dry-run", "-o", "y"], "wrong_usage", "cannot be used with"],
      [["compact", "x", "--digest", "--model", "a/b"], "wrong_usage", "cannot be used with"],
      [["sessions", "--limit", "-3"], "wrong_usage", "whole number"],
      [["sessions", "-n", "0"], "wrong_usage", "at least 1"],
      [["search", "x", "y", "-n", "0"], "wrong_usage", "at least 1"],
      [["show", ""], "wrong_usage", "must not be empty"],
      [["import", ""], "wrong_usage", "must not be empty"],
      [["search", "x", ""], "wrong_usage", "must not be empty"],
      [["export", "x", "-o", ""], "wrong_usage", "must not be empty"],
      [["compact", "x", "--keep", "99999999999999999999"], "wrong_usage", "larger than any context"],
      [["compact", "x", "--preset", "mine"], "wrong_usage", "Correct --preset"],
    ])(async ([argv, code, words]) => {
      const human = await runCli(argv);
      expect(human.code).toBe(2);
      expect(human.stderr.replaceAll(/\s+/g, " ")).toContain(words);
      const json = await runCli(["--json", ...argv]);
      expect(json.code).toBe(2);
      expect(json.stdout).toBe("");
      const { error } = JSON.parse(json.stderr);
      expect(Object.keys(error)).toEqual(["code", "message", "hint"]);
      expect(error.code).toBe(code);
    }));

  test("--json alone names no command", async () => {
    const { code, stdout, stderr } = await runCli(["--json"]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(JSON.parse(stderr).error).toMatchObject({
      code: "wrong_usage",
      message: "No command was given.",
    });
    expect((await runCli(["--json", "--help"])).stdout).toBe((await runCli([])).stdout);
    expect((await runCli(["--help", "tree"])).stdout).toBe((await runCli(["tree", "--help"])).stdout);
  });

  test("an error keeps to COLUMNS where there is no terminal", () =>
    everyRow(["40", "80"])(async (columns) => {
      const argv = ["context", writeLines(sampleLines()), "--leaf", "no-such-entry"];
      const { stderr } = await runCli(argv, { env: { COLUMNS: columns } });
      for (const line of stderr.split("\n")) expect(line.length).toBeLessThanOrEqual(Number(columns));
    }));

  test("a session that does not exist is a failure with a hint", async () => {
    const { code, stdout, stderr } = await runCli(["show", "/no/such.jsonl", "--json"]);
    expect([code, stdout]).toEqual([1, ""]);
    const { error } = JSON.parse(stderr);
    expect(error.code).toBe("session_not_found");
    expect(error.hint).toContain("bonsai session list");
  });

  test("colour follows the terminal, NO_COLOR and FORCE_COLOR", async () => {
    const file = writeLines(sampleLines());
    const sequence = "\u001b[";
    expect((await runCli(["tree", file], { columns: 80 })).stdout).not.toContain(sequence);
    expect((await runCli(["tree", file], { columns: 80, env: { NO_COLOR: "" } })).stdout).toContain(sequence);
    expect((await runCli(["tree", file], { env: { NO_COLOR: "" } })).stdout).not.toContain(sequence);
    expect((await runCli(["tree", file], { env: { FORCE_COLOR: "1" } })).stdout).toContain(sequence);
    expect((await runCli(["tree", file], { columns: 80, env: { FORCE_COLOR: "0" } })).stdout).not.toContain(
      escape,
    );
  });

  test("no control character of the content reaches the terminal", () =>
    everyRow(["show", "context", "tree", "search"])(async (name) => {
      const argv =
        name === "search" ? [name, writeLines(sampleLines()), "red"] : [name, writeLines(sampleLines())];
      for (const more of [[], name === "tree" ? ["--all"] : []]) {
        const { stdout } = await runCli([...argv, ...more], { columns: 120 });
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
        expect(stdout).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
      }
    }));
});
