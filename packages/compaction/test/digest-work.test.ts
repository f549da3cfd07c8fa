import { describe, expect, it } from "vitest";
import { answer, call, digested, run, user } from "./digest-messages.ts";

const edit = (path: string) => call("edit", { path, oldText: "a", newText: "b" }, "ok");

describe("what was done", () => {
  it("collapses edits and runs of a turn", () => {
    const messages = [
      user("Fix the rounding in src/money.ts."),
      ...edit("src/money.ts"),
      ...run(
        "npm test 2>&1 | tail -20",
        "2 failed, 8 passed\nAssertionError: 1 != 2\n\nCommand exited with code 1",
        true,
      ),
      ...edit("src/money.ts"),
      ...run("cd app && npm test", "1 failed\nAssertionError: 1 != 3\n\nCommand exited with code 1", true),
      ...edit("src/money.ts"),
      ...run("npm test", "10 passed"),
      answer("Fixed the rounding: amounts are cents now. All tests pass."),
    ];
    const { Done, Blocked } = digested(messages);
    expect(Done).toContain("Fixed the rounding");
    expect(Done).toContain("src/money.ts (×3)");
    expect(Done).toContain("`npm test` failed ×2, then passed");
    expect(Blocked).toBe("");
  });

  it.each([
    ["Claude Code", "Edit", { file_path: "src/a.ts", old_string: "a", new_string: "b" }],
    ["OpenCode", "edit", { filePath: "src/a.ts", oldString: "a", newString: "b" }],
    [
      "Codex",
      "shell",
      { command: ["apply_patch", "*** Begin Patch\n*** Update File: src/a.ts\n@@\n*** End Patch"] },
    ],
    ["Gemini CLI", "replace", { file_path: "src/a.ts", old_string: "a", new_string: "b" }],
  ])("knows the edits of %s", (_agent, name, args) => {
    const { Done } = digested([
      user("Change src/a.ts."),
      ...call(name, args, "ok"),
      answer("Changed it as asked."),
    ]);
    expect(Done).toContain("edited src/a.ts");
  });
});

describe("what failed and was never mended stands as blocked", () => {
  const failing = run(
    "npm run migrate",
    "Error: connect ECONNREFUSED 10.0.0.7:5432\n    at Socket.x (net.js:1)\n\nCommand exited with code 1",
    true,
  );

  it("with the command and the line that tells", () => {
    const { Blocked } = digested([user("Migrate."), ...failing, answer("The database cannot be reached.")]);
    expect(Blocked).toContain("`npm run migrate` failed: Error: connect ECONNREFUSED 10.0.0.7:5432");
  });

  it.each([
    ["the same command passes", run("npm run migrate 2>&1 | tail -5", "done")],
    [
      "somebody says that it is fixed",
      [answer("The ECONNREFUSED on 10.0.0.7:5432 is fixed: the port was wrong.")],
    ],
    ["it passes in what follows the summary", []],
  ])("not when %s", (name, mending) => {
    const following = name.includes("follows") ? run("npm run migrate", "done") : [];
    const { Blocked } = digested([user("Migrate."), ...failing, user("and now?"), ...mending], { following });
    expect(Blocked).toBe("");
  });

  it("survives a summary, and is mended after it", () => {
    const first = digested([user("Migrate."), ...failing, answer("It cannot be reached.")]);
    const previousSummary = `## Progress\n### Blocked\n${first.Blocked}`;
    expect(digested([user("go on"), answer("ok")], { previousSummary }).Blocked).toContain("ECONNREFUSED");
    expect(digested([user("again"), ...run("npm run migrate", "done")], { previousSummary }).Blocked).toBe(
      "",
    );
  });

  it("keeps another failing command when one passes", () => {
    const { Blocked } = digested([
      user("Test both."),
      ...run(
        "npm test -- billing",
        "FAIL billing.test.ts\nTypeError: rate is undefined\n\nCommand exited with code 1",
        true,
      ),
      ...run("npm test -- cart", "12 passed"),
    ]);
    expect(Blocked).toContain("TypeError: rate is undefined");
  });

  it.each([
    ["a search that finds nothing", run("grep -rn foo src", "Command exited with code 1", true)],
    [
      "a test piped through grep for errors",
      run("npm run check 2>&1 | grep error", "Command exited with code 1", true),
    ],
    [
      "a listing of what is not there",
      run(
        "ls dist",
        "ls: cannot access 'dist': No such file or directory\n\nCommand exited with code 2",
        true,
      ),
    ],
    ["what the user stopped", run("npm test", "Command aborted", true)],
  ])("does not count %s", (_name, messages) => {
    expect(digested([user("Look."), ...messages, answer("Done.")]).Blocked).toBe("");
  });

  it.each([
    ["Exit code 2\nmain.c:3: error: unknown type name 'foo'"],
    ['{"output":"main.c:3: error: unknown type name \'foo\'","metadata":{"exit_code":2}}'],
  ])("reads the exit code where a tool reports it as text: %s", (output) => {
    const { Blocked } = digested([user("Build."), ...run("make all", output, false)]);
    expect(Blocked).toContain("unknown type name 'foo'");
  });
});

describe("next steps", () => {
  const todos = (first: string, second: string) =>
    call(
      "TodoWrite",
      {
        todos: [
          { content: "Write the parser", status: first },
          { content: "Write the printer", status: second },
        ],
      },
      "ok",
    );

  it("come from the to-do tool's last list, finished items marked off", () => {
    const { "Next Steps": next } = digested([
      user("Plan."),
      ...todos("pending", "pending"),
      ...todos("completed", "in_progress"),
    ]);
    expect(next).not.toContain("Write the parser");
    expect(next).toContain("Write the printer (in progress)");
  });

  it("come from check lists and from plans", () => {
    const { "Next Steps": next } = digested([
      user("- [x] set up CI\n- [ ] add the linter\n- [ ] write the docs"),
      answer("Next steps:\n1. Release the beta to the testers\n2. Collect their feedback"),
    ]);
    for (const open of ["add the linter", "write the docs", "Release the beta", "Collect their feedback"])
      expect(next).toContain(open);
    expect(next).not.toContain("set up CI");
  });

  it("come from what is said in passing, until it is done", () => {
    const said = user("Great. Don't forget to rotate the webhook secret before launch.");
    expect(digested([said])["Next Steps"]).toContain("rotate the webhook secret");
    const done = answer("I rotated the webhook secret and updated the vault.");
    expect(digested([said, done])["Next Steps"]).toBe("");
  });
});
