import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { emptyRecord } from "../../src/details.ts";
import { outcomesAfter } from "../../src/record/outcomes.ts";
import type { SourceMessage } from "../../src/record/statements.ts";
import { ran, toolRun } from "./run-messages.ts";

const failing = (messages: readonly SourceMessage[]) => outcomesAfter(emptyRecord.outcomes, messages).failing;
const keys = (...runs: ReadonlyArray<Parameters<typeof ran>>) =>
  failing(runs.flatMap((run) => ran(...run))).map(({ key }) => key);

const BROKEN = "AssertionError: expected 1 to be 2";

const LINES: ReadonlyArray<[command: string, output: string, line: string]> = [
  ["npm test", `✓ a\n\u001b[31m${BROKEN}\u001b[39m\n at x (a.ts:1:2)`, BROKEN],
  ["npx tsc -b", "src/a.ts(3,5): error TS2322: Type 'x'", "src/a.ts(3,5): error TS2322: Type 'x'"],
  [
    "cargo build",
    "warning: unused\nerror[E0433]: failed to resolve\nerror: could not compile",
    "error[E0433]: failed to resolve",
  ],
  [
    "go test ./...",
    "--- FAIL: TestX\n    a_test.go:12: got 3, want 4\nFAIL\nFAIL\tx/y\t0.01s",
    "TestX: a_test.go:12: got 3, want 4",
  ],
  [
    "python app.py",
    "Traceback (most recent call last):\n  File \"app.py\", line 1\nKeyError: 'a'",
    "KeyError: 'a'",
  ],
  [
    "make",
    "main.c:3:5: error: 'x' undeclared\nmake: *** [main.o] Error 1",
    "main.c:3:5: error: 'x' undeclared",
  ],
  [
    "make",
    "In Funktion:\nmain.c:3:5: Fehler: 'x' fehlt\nmake: *** [main.o] Fehler 1",
    "main.c:3:5: Fehler: 'x' fehlt",
  ],
  [
    "mvn -q verify",
    "[ERROR] /a/B.java:[3,4] cannot find symbol\n[INFO] BUILD FAILURE",
    "[ERROR] /a/B.java:[3,4] cannot find symbol",
  ],
  [
    "gradle build",
    "FAILURE: Build failed with an exception.\n* What went wrong:\nCould not resolve x\nBUILD FAILED in 1s",
    "Could not resolve x",
  ],
  [
    "docker build .",
    "#8 RUN npm ci\n------\nERROR: failed to solve: process did not complete",
    "ERROR: failed to solve: process did not complete",
  ],
  ["terraform plan", "╷\n│ Error: Invalid reference\n│\n│   on main.tf line 1", "Error: Invalid reference"],
  [
    "git push origin main",
    "To github.com:a/b\n ! [rejected] main -> main (fetch first)\nerror: failed",
    "! [rejected] main -> main (fetch first)",
  ],
  [
    "kubectl apply -f x",
    'error: error validating "x": unknown field',
    'error: error validating "x": unknown field',
  ],
  [
    "dotnet build",
    "Program.cs(3,5): error CS0103: 'x' does not exist\nBuild FAILED.",
    "Program.cs(3,5): error CS0103: 'x' does not exist",
  ],
  [
    "npm install",
    "npm error code ERESOLVE\nnpm error ERESOLVE could not resolve\nnpm error Found: b\nnpm error x",
    "npm error ERESOLVE could not resolve",
  ],
  ["./start.sh", "接続できません", "接続できません"],
  ["frobnicate", "bash: frobnicate: command not found", "bash: frobnicate: command not found"],
  ["./go.sh", "a\nb\nc\nd\ne", "e"],
  [
    "docker compose up -d web",
    "[91/99] encodeQueue\n[92/99] HttpError\nError response from daemon: manifest for web:3 not found\n[93/99] done",
    "Error response from daemon: manifest for web:3 not found",
  ],
  [
    "make app",
    "[1/9] EMITTER\nmain.o: undefined reference to `x_init'\ncollect2: error: ld returned 1 exit status\nmake: *** [app] Error 1",
    "main.o: undefined reference to `x_init'",
  ],
  [
    "kubectl rollout status deploy/web",
    'Waiting for rollout\nerror: deployment "web" exceeded its progress deadline',
    'error: deployment "web" exceeded its progress deadline',
  ],
  [
    "psql -f seed.sql",
    'psql:seed.sql:3: ERROR:  relation "a" does not exist\npsql:seed.sql:4: ERROR:  current transaction is aborted',
    'psql:seed.sql:3: ERROR:  relation "a" does not exist',
  ],
  [
    "pytest",
    "E       AssertionError: assert 3 == 4\nE        +  where 3 = f(1)\na.py:4: AssertionError\n1 failed in 0.1s",
    "E       AssertionError: assert 3 == 4",
  ],
  [
    "python load.py",
    "ConnectionError: first try\nDuring handling of this, another one occurred:\nKeyError: 'host'",
    "KeyError: 'host'",
  ],
  [
    "npx eslint src",
    "src/a.ts\n  3:7  error  'x' is never used\n✖ 1 problem (1 error)",
    "3:7  error  'x' is never used",
  ],
];

test("a failing command has its decisive line", () =>
  everyRow(LINES)(([command, output, line]) => {
    expect(failing(ran(command, output, 1, "e7"))).toMatchObject([{ line, entryId: "e7" }]);
  }));

test("a failing command is known without folder, environment and pipe", () =>
  everyRow([
    ["cd packages/a && CI=1 timeout 60 npm test -- foo > out.txt 2>&1", "npm test -- foo"],
    ["npm run check 2>&1 | tail -20", "npm run check"],
    ["FORCE_COLOR=0 sudo make -j4 | head", "make -j4"],
    ["npm run lint && npm test", "npm run lint && npm test"],
    ["ls && pytest -q; echo done", "pytest -q"],
  ])(([command, key]) => {
    expect(keys([command, `x\n${BROKEN}`, 1])).toEqual([key]);
  }));

const CODES: ReadonlyArray<[output: string, details?: unknown]> = [
  ["Error: x\n\nCommand exited with code 2"],
  ["Error: x\n[Exit code 1.]"],
  ["Exit code 1\nError: x"],
  ["Chunk ID: 1\nProcess exited with code 1\nOutput:\nError: x"],
  ['{"output":"Error: x","metadata":{"exit_code":1}}\nError: x'],
  ["Error: x\n<exit_code>1</exit_code>"],
  ["Error: x\nexit status 3"],
  ["Error: x", { exitCode: 1 }],
  ["Error: x", { metadata: { exit_code: 7 } }],
];

test("an exit code is read from the output or the details of any agent", () =>
  everyRow(CODES)(([output, details]) => {
    expect(
      failing(toolRun("shell", { command: ["bash", "-lc", "npm test"] }, { output, details })),
    ).toHaveLength(1);
  }));

test("the output decides if a pipe hides the exit code", () =>
  everyRow([
    ["npm test 2>&1 | tail -20", ` FAIL  a.test.ts > b\n${BROKEN}\nTests  1 failed | 3 passed (4)`, 1],
    ["npm test 2>&1 | tail -20", "stderr | Error: boom\nTests  4 passed (4)", 0],
    ["pytest -q || true", "E   assert 1 == 2\n1 failed, 2 passed in 0.1s", 1],
    ["cargo test; echo EXIT=$?", "error[E0308]: mismatched types\nEXIT=101", 1],
    ["npm run check 2>&1 | grep error", "src/a.ts(3,5): error TS2322: Type 'x'", 1],
    ["mvn test | tail -5", "Tests run: 3, Failures: 1, Errors: 0", 1],
    ["mvn test | tail -5", "Tests run: 3, Failures: 0, Errors: 0\nBUILD SUCCESS", 0],
    ["go test ./... | grep -v '^ok'", "--- FAIL: TestX (0.0s)\nFAIL\tx/y\t0.1s", 1],
    ["git push 2>&1 | cat", "error: failed to push some refs", 1],
    ["cat log.txt | head", "Error: old\n3 failed", 0],
  ] as const)(([command, output, count]) => {
    expect(failing(ran(command, output))).toHaveLength(count);
  }));

test("a command that only reads is no attempt", () =>
  everyRow([
    ["grep foo x", "", 1],
    ["ls nope", "ls: nope: No such file or directory", 2],
    ["git diff --exit-code", "error x", 1],
    ["git status", "fatal: not a git repository", 128],
    ["which deno", "", 1],
    ["find / -name x | head", "find: Permission denied", 1],
    ["kubectl get pods", "error: not found", 1],
    ["gh pr view 4", "error: no pull requests found", 1],
    ["curl http://localhost:1/", "curl: (7) Failed to connect", 7],
    ["cp a b", "cp: a: No such file or directory", 1],
  ] as const)(([command, output, code]) => {
    expect(keys([command, output, code])).toEqual([]);
  }));

const CLEARED: ReadonlyArray<[failed: string, passed: string]> = [
  ["npm test", "cd a && npm test 2>&1 | tail -5"],
  ["npm test -- foo", "npm test"],
  ["pytest tests/a.py::test_x", "pytest tests/"],
  ["go test ./a/b", "go test ./..."],
  ["cargo test -p core foo", "cargo test --workspace"],
  ["kubectl rollout status deploy/web", "kubectl rollout status deploy/web"],
  ["npm run lint && npm test", "npm run lint && npm test"],
  ["npm test", "npm run lint && npm test"],
  ["git commit -m 'a'", "git add . && git commit -m 'b' --no-verify"],
  ["git push origin main", "git pull --rebase && git push -u origin main"],
  ["cd /repo/a && make test", "cd a && make test"],
  ["npm run check", "npm run check 2>&1 | grep -E 'error|warn'"],
];

test("a run of the same or a wider command mends a failure", () =>
  everyRow(CLEARED)(([failed, passed]) => {
    expect(keys([failed, BROKEN, 1], [passed, ""])).toEqual([]);
  }));

test("a run of another or a narrower command mends no failure", () =>
  everyRow([
    ["npm test", "npm test -- foo"],
    ["npx tsc --noEmit", "npm run lint"],
    ["cd a && npm test", "cd b && npm test"],
    ["npm run check", "npm run check 2>&1 | grep wrap"],
    ["npm run check && npm test", "npm test"],
    ["git push origin v1", "git push origin main"],
    ["cargo test -p core", "npm test"],
    ["go test ./a/...", "pnpm test"],
    ["pytest tests/a.py", "pytest tests/b.py"],
    ["npm test", "false || npm test"],
    ["npx vitest run test/a.test.ts", "npm test"],
    ["npm test -- test/a.test.ts", "npx vitest run test/a.test.ts"],
    ["make app", "make"],
    ["psql -c 'select a'", "psql -c 'select b'"],
    ["npm run test:unit", "npm run test:e2e"],
  ])(([failed, passed]) => {
    expect(keys([failed, BROKEN, 1], [passed, ""])).toHaveLength(1);
  }));

test("a failed chain keeps the commands that have not passed since", () => {
  const chain: Parameters<typeof ran> = ["npm run check && npm test", BROKEN, 1];
  expect(keys(chain, ["npm test"])).toEqual(["npm run check"]);
  expect(keys(chain, ["npm run check"], ["npm test"])).toEqual([]);
});

test("the last failure of a command counts, and comes last", () => {
  const runs = [
    ...ran("make a", "Error: x", 1, "1"),
    ...ran("make b", "Error: y", 1, "2"),
    ...ran("make a", "Error: z", 1, "3"),
  ];
  expect(failing(runs)).toEqual([
    { key: "make b", line: "Error: y", entryId: "2" },
    { key: "make a", line: "Error: z", entryId: "3" },
  ]);
});

test("an exit code above 0 counts through a pipe, but for a search that finds nothing", () => {
  expect(keys(["./load.sh 2>&1 | tail -20", "step 1\nError: connect ECONNREFUSED db:5432", 1])).toEqual([
    "./load.sh",
  ]);
  expect(keys(["npm run check", BROKEN, 1], ["npm run check | grep error", "", 1])).toEqual([]);
});

test("an aborted or refused call says nothing", () => {
  for (const output of [
    "Command aborted",
    "[Stopped by the user after 3 s.]",
    "the user does not want this\nto be\nrun\nnow",
  ])
    expect(failing(toolRun("bash", { command: "npm test" }, { output, isError: true }))).toEqual([]);
});

test("an editor whose verb is called a command runs none", () => {
  const edit = { command: "str_replace", path: "src/a.ts", old_str: "a" };
  expect(failing(toolRun("edit", edit, { output: "Error: no match", isError: true }))).toEqual([]);
});

test("the user's own commands count", () => {
  const own = (exitCode: number, cancelled = false): SourceMessage => ({
    message: {
      role: "bashExecution",
      command: "npm test",
      output: "Error: x",
      exitCode,
      cancelled,
      truncated: false,
      timestamp: 0,
    },
    entryId: "u",
  });
  expect(failing([own(1)])).toEqual([{ key: "npm test", line: "Error: x", entryId: "u" }]);
  expect(failing([own(1), own(0)])).toEqual([]);
  expect(failing([own(1, true)])).toEqual([]);
});

test("the rest of a failed chain has no quoted line, because it may belong to the part that passed", () => {
  const messages = [...ran("yarn test && yarn lint", "a.ts 9:3 error no-console", 1), ...ran("yarn lint")];
  expect(failing(messages).map(({ key, line }) => [key, line])).toEqual([["yarn test", ""]]);
});

test("the newest failure of a part replaces an older one of another chain", () => {
  const messages = [
    ...ran("make css && ruff check .", "x.py:1:1: F401 unused import", 1),
    ...ran("ruff check .", "y.py:2:1: E402 import not at top", 1),
  ];
  expect(failing(messages).map(({ key }) => key)).toEqual(["make css", "ruff check ."]);
});

test("reads the output inside a JSON result", () => {
  const output = JSON.stringify({
    output: "error: patch failed: zip.go:31\nerror: zip.go: patch does not apply",
    metadata: { exit_code: 1, duration_seconds: 7.3 },
  });
  const messages = toolRun("shell", { command: ["bash", "-lc", "make check"] }, { output });
  const [{ key, line } = { key: "", line: "" }] = failing(messages);
  expect([key, line]).toEqual(["make check", expect.stringMatching(/^error: /)]);
  const damaged = toolRun("shell", { command: "make check" }, { output: output.slice(0, 40), isError: true });
  expect(failing(damaged)).toHaveLength(1);
});
