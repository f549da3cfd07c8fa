import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { openTestSession } from "@bonsai-agent/extension/testing";
import { describe, expect, test, vi } from "vitest";
import protectedPaths from "../index.ts";
import { answers, bash, project, put, refused, rule, useProject } from "./guarded-project.ts";

useProject();

describe("paths", () => {
  test("names the rule that protects a path", async () => {
    const rules: [string, string][] = [
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
    ];
    expect(await answers(rules, rule)).toEqual(rules);
  });

  test("protects no path with a similar name", async () => {
    const paths = [
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
    ];
    expect(
      await answers(
        paths.map((path) => [path]),
        rule,
      ),
    ).toEqual(paths.map((path) => [path, undefined]));
  });

  test("names path and rule in the reason", async () => {
    expect(await refused("edit", { path: ".env", edits: [{ oldText: "1", newText: "2" }] })).toBe(
      ".env is protected by the rule .env. Do not change it. If the task requires a change, ask the user to make it.",
    );
  });

  test("follows links, also to files that do not exist yet", async () => {
    symlinkSync(".env", join(project.cwd, "link"));
    symlinkSync(".env.new", join(project.cwd, "dangling"));
    symlinkSync(".git", join(project.cwd, "repo"));
    expect(await refused("write", { path: "link", content: "" })).toContain(
      `link (a link to ${join(project.cwd, ".env")})`,
    );
    expect(await rule("dangling")).toBe(".env.*");
    expect(await rule("repo/hooks/pre-commit")).toBe(".git/");
    expect(await bash("rm -r repo/hooks")).toBe(".git/");
  });

  test("protects nothing because of the folder that the project is in", async () => {
    const inner = join(project.cwd, "node_modules", "x");
    expect(await rule("index.js", { cwd: inner })).toBeUndefined();
  });
});

describe("own rules", () => {
  test("takes the flag, else the variable; !PATH frees a path", async () => {
    vi.stubEnv("BONSAI_PROTECT", "src/generated/, *.snap, !node_modules/");
    expect(await rule("src/generated/deep/x.ts")).toBe("src/generated/");
    expect(await rule("other/src/generated/x.ts")).toBeUndefined();
    expect(await rule("a/b.snap")).toBe("*.snap");
    expect(await rule("node_modules/x")).toBeUndefined();
    await project.open!.close();
    project.open = undefined;
    expect(await rule("a.snap", { flags: { protect: "docs/**/*.md" } })).toBeUndefined();
    expect(await rule("docs/a/b.md")).toBe("docs/**/*.md");
  });

  test("reads the files of the user and of the project, one rule a line", async () => {
    put({
      ".bonsai/protected-paths": "# ours\n\n/migrations\n!.env.test\r\n",
      "../home/protected-paths": "~/notes/\n",
    });
    expect(await rule("migrations/1.sql")).toBe("/migrations");
    expect(await rule("sub/migrations/1.sql")).toBeUndefined();
    expect(await rule(".env.test")).toBeUndefined();
    expect(await rule(join(homedir(), "notes", "x.md"))).toBe("~/notes/");
    expect(await rule(join(project.folder, "home", "protected-paths"))).toContain("protected-paths");
  });

  test("an untrusted project can protect paths, but free none", async () => {
    put({ ".bonsai/protected-paths": "mine\n!.env\n" });
    expect(await rule(".env", { isProjectTrusted: false })).toBe(".env");
    expect(await rule("mine")).toBe("mine");
  });

  test("a rule file cannot free itself", async () => {
    put({ ".bonsai/protected-paths": "!.bonsai/protected-paths\n" });
    expect(await bash("echo '!.env' >> .bonsai/protected-paths")).toBe("/.bonsai/protected-paths");
  });

  test("refuses every change if a rule file cannot be read", async () => {
    mkdirSync(join(project.cwd, ".bonsai", "protected-paths"), { recursive: true });
    expect(await refused("write", { path: "src/a.ts", content: "" })).toBeDefined();
    expect(project.open!.notices.map(({ message }) => message).join()).toContain("EISDIR");
  });
});

describe("at work", () => {
  test("a refused tool does not run, the model gets the reason, and reading is allowed", async () => {
    const call = (name: string, args: Record<string, unknown>) => ({ name, arguments: args });
    project.open = await openTestSession({
      extensions: protectedPaths,
      cwd: project.cwd,
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
    await project.open.prompt("Go on.");
    const results = project.open.session
      .projection()
      .items.flatMap(({ message }) => (message.role === "toolResult" ? [message] : []));
    expect(results.map(({ isError }) => isError)).toEqual([true, true, false, false]);
    expect(JSON.stringify(results[0]!.content)).toContain("protected by the rule .env");
    expect(readFileSync(join(project.cwd, ".env"), "utf8")).toBe("A=1\n");
    expect(existsSync(join(project.cwd, "src/b.ts"))).toBe(true);
  });

  test("recognises tools of other extensions by the shape of their arguments", async () => {
    expect(
      await refused("apply_patch", { patch: "*** Begin Patch\n*** Update File: .env\n*** End Patch" }),
    ).toContain(".env");
    expect(await refused("multi_edit", { files: [{ file_path: ".git/config" }] })).toContain(".git/");
    expect(await refused("view", { path: ".env" })).toBeUndefined();
  });
});
