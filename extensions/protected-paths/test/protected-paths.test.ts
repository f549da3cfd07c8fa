import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  type OpenTestSessionOptions,
  openTestSession,
  type TestSession,
} from "@bonsai-agent/extension/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import protectedPaths from "../index.ts";

let folder: string;
let cwd: string;
let open: TestSession | undefined;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "bonsai-protected-")));
  cwd = join(folder, "project");
  put({
    ".env": "A=1\n",
    ".git/HEAD": "x",
    "src/a.ts": "a\n",
    "node_modules/x/index.js": "x",
    "dist/o.js": "o",
  });
  vi.stubEnv("BONSAI_HOME", join(folder, "home"));
  vi.stubEnv("BONSAI_PROTECT", undefined);
});

afterEach(async () => {
  await open?.close();
  open = undefined;
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

function put(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), text);
  }
}

/** Why a call of a tool is refused; undefined where it is not. */
async function refused(
  toolName: string,
  input: Record<string, unknown>,
  options: OpenTestSessionOptions = {},
): Promise<string | undefined> {
  open ??= await openTestSession({ extensions: protectedPaths, cwd, ...options });
  const event = { type: "tool_call", toolCallId: "1", toolName, input } as const;
  const { result } = await open.lifecycle.decide("tool_call", event);
  return result?.block === true ? result.reason : undefined;
}

/** The rule that a change of a path breaks. */
async function rule(path: string, options: OpenTestSessionOptions = {}): Promise<string | undefined> {
  const reason = await refused("write", { path, content: "x" }, options);
  return /by the rule (\S+)\. /.exec(reason ?? "")?.[1];
}

async function bash(command: string, options: OpenTestSessionOptions = {}): Promise<string | undefined> {
  const reason = await refused("bash", { command }, options);
  return /by the rule (\S+)\. /.exec(reason ?? "")?.[1];
}

describe("paths", () => {
  test.each<[string, string]>([
    [".env", ".env"],
    [".env.production", ".env.*"],
    ["packages/x/.env.local", ".env.*"],
    ["prod.env", "*.env"],
    [".ENV", ".env"],
    [".git/config", ".git/"],
    [".git", ".git/"],
    ["node_modules/x/index.js", "node_modules/"],
    ["packages/x/node_modules/y", "node_modules/"],
    ["package-lock.json", "package-lock.json"],
    ["keys/server.PEM", "*.pem"],
    ["id_ed25519", "id_ed25519"],
    ["src/../.env", ".env"],
    ["./src/..//.env", ".env"],
    ["~/.ssh/config", ".ssh/"],
    ["/etc/x/.aws/credentials", ".aws/"],
    [".bonsai/protected-paths", "/.bonsai/protected-paths"],
  ])("%s is protected by %s", async (path, expected) => {
    expect(await rule(path)).toBe(expected);
  });

  test.each([
    ".env.example",
    "src/env.ts",
    "src/a.ts",
    "id_map.ts",
    "id_ed25519.pub",
    "gitignore",
    ".gitignore",
    ".github/x.yml",
    "locks.json",
    "environment",
  ])("%s is not", async (path) => {
    expect(await rule(path)).toBeUndefined();
  });

  test("the reason names path and rule", async () => {
    expect(await refused("edit", { path: ".env", edits: [{ oldText: "1", newText: "2" }] })).toBe(
      ".env is protected by the rule .env. Do not change it. If the task requires a change, ask the user to make it.",
    );
  });

  test("links are followed, to files that are not there yet too", async () => {
    symlinkSync(".env", join(cwd, "link"));
    symlinkSync(".env.new", join(cwd, "dangling"));
    symlinkSync(".git", join(cwd, "repo"));
    expect(await refused("write", { path: "link", content: "" })).toContain(
      `link (a link to ${join(cwd, ".env")})`,
    );
    expect(await rule("dangling")).toBe(".env.*");
    expect(await rule("repo/hooks/pre-commit")).toBe(".git/");
    expect(await bash("rm -r repo/hooks")).toBe(".git/");
  });

  test("a project may lie in a folder of any name", async () => {
    const inner = join(cwd, "node_modules", "x");
    expect(await rule("index.js", { cwd: inner })).toBeUndefined();
  });
});

test.each<[string, string | undefined]>([
  ["echo x > .env", ".env"],
  ["echo x >> .env", ".env"],
  ["cat a | tee -a .env", ".env"],
  ["echo x > '.env'", ".env"],
  ["cp src/a.ts .env", ".env"],
  ["cp /elsewhere/.env .", ".env"],
  ["cp -t . /elsewhere/.env", ".env"],
  ["mv .env other", ".env"],
  ["mv src/a.ts node_modules", "node_modules/"],
  ["ln -sf src/a.ts .env", ".env"],
  ["rm .env", ".env"],
  ["rm -f -- .env", ".env"],
  ["sudo rm -rf .git", ".git/"],
  ["bash -c 'rm .env'", ".env"],
  ["cd src && rm ../.env", ".env"],
  ["(cd src; echo x > ../.git/config)", ".git/"],
  ["rm .en*", ".env"],
  ["rm .{env,git}", ".env"],
  ["rm -rf .", ".env"],
  ["rm -rf ../project", ".env"],
  ["rm -rf $PWD/.git", ".git/"],
  ["mv . ../other", ".env"],
  ["sed -i s/1/2/ .env", ".env"],
  ["sed -i.bak -e s/1/2/ .env", ".env"],
  ["perl -pi -e s/1/2/ .env", ".env"],
  ["truncate -s 0 .env", ".env"],
  ["touch .env.local", ".env.*"],
  ["chmod 644 .env", ".env"],
  ["curl x -o .env", ".env"],
  ["wget --output-document=.env x", ".env"],
  ["dd if=a of=.env", ".env"],
  ["git checkout HEAD -- .env", ".env"],
  ["git restore .env", ".env"],
  ["git rm -f .env", ".env"],
  ["find . -name .env -delete", ".env"],
  ["find . -delete", ".env"],
  ["find -type f -exec rm {} +", ".env"],
  ["rm -rf node_modules", "node_modules/"],
  // The command does not say surely what it does.
  ["python3 -c \"open('.env', 'w')\"", ".env"],
  ["node -e 'fs.writeFileSync(`.env`, 1)'", ".env"],
  ["f=.env; rm $f", ".env"],
  ["for f in .e*; do rm $f; done", ".env"],
  ["cat > .env <<E\nA=2\nE", ".env"],
  ['echo x > "$PWD/.env"', ".env"],
  ["awk '{print > \".env\"}' src/a.ts", ".env"],
  ["sed 's/1/2/w .env' src/a.ts", ".env"],
  ["sort -o.env src/a.ts", "*.env"],
  ["sort --output=.env src/a.ts", ".env"],
  ["git log --output=.env", ".env"],
  ["tar xf x.tar -C .git", ".git/"],
  ["ln .env copy", ".env"],
  ["cd .git && rm HEAD", ".git/"],
  ["git clean -fdx", ".env"],
  ["find . -name '.e*' -delete", ".env"],
  ["find . ! -name '*.ts' -delete", ".env"],
  ["eval 'rm .env'", ".env"],
  ["echo .env | xargs rm", ".env"],
  ["node --env-file=.env src/a.ts", undefined],
  ["docker run --env-file .env x", undefined],
  ["git add .env package-lock.json", undefined],
  ["node node_modules/x/index.js", undefined],
  ["npx eslint --ignore-pattern node_modules .", undefined],
  ["find . -type f -exec grep -l x {} +", undefined],
  ["awk '{print $1}' .env | sort -u", undefined],
  ["cat .env", undefined],
  ["grep -r x .git", undefined],
  ["sed s/1/2/ .env", undefined],
  ["cp .env /elsewhere/x", undefined],
  ["cp .env dist", ".env"],
  ["source .env && npm start", undefined],
  ["cat < .env > src/copy", undefined],
  ["rm -rf dist src", undefined],
  ["find . -name '*.log' -delete", undefined],
  ["find . -name '*.ts' -exec grep x {} +", undefined],
  ["mv src/a.ts src/b.ts", undefined],
  ["mv src/a.ts .", undefined],
  ["git add . && git commit -m 'rm .env'", undefined],
  ["npm install", undefined],
  ["echo 'rm .env'", undefined],
  ["ls 2>/dev/null", undefined],
])("%j: %s", async (command, expected) => {
  expect(await bash(command)).toBe(expected);
});

test("asks the user before a command that may change a protected file, and refuses one that surely does", async () => {
  open = await openTestSession({
    extensions: protectedPaths,
    cwd,
    ui: { select: ["Run once", "Do not run"] },
  });
  const line = "python3 -c \"open('.env', 'w')\"";
  expect(await bash(line)).toBeUndefined();
  expect(await refused("bash", { command: line })).toContain("This command may change it.");
  expect(await bash("rm .env")).toBe(".env");
  expect(await refused("bash", { command: ["rm", ".env"] })).toContain("Do not change it.");
  expect(open.ui.map(({ args }) => args[0])).toEqual(
    Array(2).fill(
      `Run this command? It may change a protected file.\n\n${line}\n\n.env is protected by the rule .env.`,
    ),
  );
});

test("a folder that holds what can be made anew may go, one that holds secrets may not", async () => {
  put({ "old/node_modules/x.js": "", "old/package-lock.json": "", "kept/deep/er/server.pem": "" });
  expect(await bash("rm -rf old")).toBeUndefined();
  expect(await bash("rm -rf kept")).toBe("*.pem");
});

describe("lists of one's own", () => {
  test("flag, else environment; and !PATH frees one", async () => {
    vi.stubEnv("BONSAI_PROTECT", "src/generated/, *.snap, !node_modules/");
    expect(await rule("src/generated/deep/x.ts")).toBe("src/generated/");
    expect(await rule("other/src/generated/x.ts")).toBeUndefined();
    expect(await rule("a/b.snap")).toBe("*.snap");
    expect(await rule("node_modules/x")).toBeUndefined();
    await open!.close();
    open = undefined;
    expect(await rule("a.snap", { flags: { protect: "docs/**/*.md" } })).toBeUndefined();
    expect(await rule("docs/a/b.md")).toBe("docs/**/*.md");
  });

  test("of the project and of the user, one a line", async () => {
    put({
      ".bonsai/protected-paths": "# ours\n\n/migrations\n!.env.test\r\n",
      "../home/protected-paths": "~/notes/\n",
    });
    expect(await rule("migrations/1.sql")).toBe("/migrations");
    expect(await rule("sub/migrations/1.sql")).toBeUndefined();
    expect(await rule(".env.test")).toBeUndefined();
    expect(await rule(join(homedir(), "notes", "x.md"))).toBe("~/notes/");
    expect(await rule(join(folder, "home", "protected-paths"))).toContain("protected-paths");
  });

  test("a project that is not trusted can protect, and not free", async () => {
    put({ ".bonsai/protected-paths": "mine\n!.env\n" });
    expect(await rule(".env", { isProjectTrusted: false })).toBe(".env");
    expect(await rule("mine")).toBe("mine");
  });

  test("the list itself cannot be freed", async () => {
    put({ ".bonsai/protected-paths": "!.bonsai/protected-paths\n" });
    expect(await bash("echo '!.env' >> .bonsai/protected-paths")).toBe("/.bonsai/protected-paths");
  });

  test("one that cannot be read refuses every change: the guard fails closed", async () => {
    mkdirSync(join(cwd, ".bonsai", "protected-paths"), { recursive: true });
    expect(await refused("write", { path: "src/a.ts", content: "" })).toBeDefined();
    expect(open!.notices.map(({ message }) => message).join()).toContain("EISDIR");
  });
});

describe("at work", () => {
  test("the tool does not run, and the model learns why; reading is allowed", async () => {
    const call = (name: string, args: Record<string, unknown>) => ({ name, arguments: args });
    open = await openTestSession({
      extensions: protectedPaths,
      cwd,
      answers: [
        {
          calls: [
            call("write", { path: ".env", content: "B=2\n" }),
            call("bash", { command: "echo B=2 > .env" }),
            call("read", { path: ".env" }),
            call("write", { path: "src/b.ts", content: "b\n" }),
          ],
        },
        "Done.",
      ],
    });
    await open.prompt("Go on.");
    const results = open.session
      .projection()
      .items.flatMap(({ message }) => (message.role === "toolResult" ? [message] : []));
    expect(results.map(({ isError }) => isError)).toEqual([true, true, false, false]);
    expect(JSON.stringify(results[0]!.content)).toContain("protected by the rule .env");
    expect(readFileSync(join(cwd, ".env"), "utf8")).toBe("A=1\n");
    expect(existsSync(join(cwd, "src/b.ts"))).toBe(true);
  });

  test("tools of other extensions are held by the shape of their arguments", async () => {
    expect(
      await refused("apply_patch", { patch: "*** Begin Patch\n*** Update File: .env\n*** End Patch" }),
    ).toContain(".env");
    expect(await refused("multi_edit", { files: [{ file_path: ".git/config" }] })).toContain(".git/");
    expect(await refused("view", { path: ".env" })).toBeUndefined();
  });
});

test("globs of many stars and of many folders hold nothing up", async () => {
  put({
    ["a".repeat(200)]: "a",
    ...Object.fromEntries(Array.from({ length: 80 }, (_, at) => [`d${at}/x`, "x"])),
  });
  vi.stubEnv("BONSAI_PROTECT", "*a*a*a*a*a*a*a*a*a*a*a*a*c");
  expect(await refused("bash", { command: "rm *a*a*a*a*a*a*a*a*a*a*a*a*b" })).toBeUndefined();
  expect(await refused("write", { path: "a".repeat(200), content: "" })).toBeUndefined();
  expect(await refused("bash", { command: "rm */../*/../*/x" })).toContain("matches more than 5000 paths");
});
