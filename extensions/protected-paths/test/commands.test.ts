import { openTestSession } from "@bonsai-agent/extension/testing";
import { describe, expect, test, vi } from "vitest";
import protectedPaths from "../index.ts";
import { answers, bash, project, put, refused, useProject } from "./guarded-project.ts";

useProject();

describe("commands", () => {
  test("refuses a command that surely changes a protected file", async () => {
    const rules: [string, string][] = [
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
      ["cp .env dist", ".env"],
    ];
    expect(await answers(rules, bash)).toEqual(rules);
  });

  test("refuses a command that names a protected file and may change it", async () => {
    const rules: [string, string][] = [
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
    ];
    expect(await answers(rules, bash)).toEqual(rules);
  });

  test("runs commands that only read protected files, or change others", async () => {
    const lines = [
      "node --env-file=.env src/a.ts",
      "docker run --env-file .env x",
      "git add .env package-lock.json",
      "node node_modules/x/index.js",
      "npx eslint --ignore-pattern node_modules .",
      "find . -type f -exec grep -l x {} +",
      "awk '{print $1}' .env | sort -u",
      "cat .env",
      "grep -r x .git",
      "sed s/1/2/ .env",
      "cp .env /elsewhere/x",
      "source .env && npm start",
      "cat < .env > src/copy",
      "rm -rf dist src",
      "find . -name '*.log' -delete",
      "find . -name '*.ts' -exec grep x {} +",
      "mv src/a.ts src/b.ts",
      "mv src/a.ts .",
      "git add . && git commit -m 'rm .env'",
      "npm install",
      "echo 'rm .env'",
      "ls 2>/dev/null",
    ];
    expect(
      await answers(
        lines.map((line) => [line]),
        bash,
      ),
    ).toEqual(lines.map((line) => [line, undefined]));
  });
});

test("asks the user before a command that may change a protected file, and refuses one that surely does", async () => {
  project.open = await openTestSession({
    extensions: protectedPaths,
    cwd: project.cwd,
    ui: { select: ["Run once", "Do not run"] },
  });
  const line = "python3 -c \"open('.env', 'w')\"";
  expect(await bash(line)).toBeUndefined();
  expect(await refused("bash", { command: line })).toContain("This command may change it.");
  expect(await bash("rm .env")).toBe(".env");
  expect(await refused("bash", { command: ["rm", ".env"] })).toContain("Do not change it.");
  expect(project.open.ui.map(({ args }) => args[0])).toEqual(
    Array(2).fill(
      `Run this command? It may change a protected file.\n\n${line}\n\n.env is protected by the rule .env.`,
    ),
  );
});

test("lets a folder with derived files be deleted, but none with secrets", async () => {
  put({ "old/node_modules/x.js": "", "old/package-lock.json": "", "kept/deep/er/server.pem": "" });
  expect(await bash("rm -rf old")).toBeUndefined();
  expect(await bash("rm -rf kept")).toBe("*.pem");
});

test("matches globs with many stars and folders in bounded time", async () => {
  put({
    ["a".repeat(200)]: "a",
    ...Object.fromEntries(Array.from({ length: 80 }, (_, at) => [`d${at}/x`, "x"])),
  });
  vi.stubEnv("BONSAI_PROTECT", "*a*a*a*a*a*a*a*a*a*a*a*a*c");
  expect(await refused("bash", { command: "rm *a*a*a*a*a*a*a*a*a*a*a*a*b" })).toBeUndefined();
  expect(await refused("write", { path: "a".repeat(200), content: "" })).toBeUndefined();
  expect(await refused("bash", { command: "rm */../*/../*/x" })).toContain("matches more than 5000 paths");
});
