import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { processIo } from "../src/io.ts";
import { longSession } from "./sample-session.ts";

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const node = ["--conditions=@bonsai-agent/source", "--no-warnings", main];

test("bonsai --version prints the package's version", () => {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  expect(execFileSync(process.execPath, [...node, "--version"], { encoding: "utf8" })).toBe(`${version}\n`);
});

test("a reader that leaves ends it quietly", () => {
  const command = `"$0" ${node.map((word) => `'${word}'`).join(" ")} tree "$1" --all | head -n 1`;
  const { stdout, stderr } = spawnSync("sh", ["-c", command, process.execPath, longSession()], {
    encoding: "utf8",
  });
  expect(stdout.split("\n")).toHaveLength(2);
  expect(stderr).toBe("");
});

test("the exit code reaches the shell", () => {
  expect(spawnSync(process.execPath, [...node, "shwo"]).status).toBe(2);
});

test("Ctrl-C aborts interruptible work instead of killing, once", async () => {
  const { interruptible } = processIo();
  const before = process.listenerCount("SIGINT");
  const aborted = await interruptible(async (signal) => {
    process.emit("SIGINT");
    expect(process.listenerCount("SIGINT")).toBe(before);
    return signal.aborted;
  });
  expect(aborted).toBe(true);
  await interruptible(async () => {});
  expect(process.listenerCount("SIGINT")).toBe(before);
});
