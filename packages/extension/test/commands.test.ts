import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { openTestSession } from "../src/testing/index.ts";

test("a command gets the trimmed text after its name", () =>
  everyRow([
    ["/say", ""],
    ["/say  ", ""],
    ["  /say it  ", "it"],
    ["/say one  two\nthree ", "one  two\nthree"],
  ])(async ([text, args]) => {
    const got: string[] = [];
    await using session = await openTestSession({
      extensions: (bonsai) => void bonsai.registerCommand("say", { handler: (said) => void got.push(said) }),
    });
    expect(session.extensions.hasCommand(text)).toBe(true);
    expect(await session.extensions.runCommand(text)).toBe(true);
    expect(got).toEqual([args]);
  }));

test("a text without a known command runs none", () =>
  everyRow(["say it", "/", "/ say", "/sayit", "/other", "", "//say"])(async (text) => {
    await using session = await openTestSession({
      extensions: (bonsai) => void bonsai.registerCommand("say", { handler: () => {} }),
    });
    expect(session.extensions.hasCommand(text)).toBe(false);
    expect(await session.extensions.runCommand(text)).toBe(false);
  }));

test("a command that throws fails with its name and that of its extension", async () => {
  await using session = await openTestSession({
    extensions: function faulty(bonsai) {
      bonsai.registerCommand("fall", { handler: () => Promise.reject(new Error("over a root")) });
    },
  });
  await expect(session.command("/fall")).rejects.toMatchObject({
    code: "extension_command_failed",
    message: "/fall of inline:faulty-1 failed: over a root",
    cause: { message: "over a root" },
  });
});

test("commands are listed with their extension", async () => {
  let listed: unknown;
  await using session = await openTestSession({
    extensions: function listing(bonsai) {
      bonsai.registerCommand("a", { description: "First", handler: () => {} });
      bonsai.registerCommand("b", {
        handler: () => {
          listed = bonsai.getCommands();
        },
      });
    },
  });
  await session.command("/b");
  expect(listed).toEqual([
    { name: "a", description: "First", source: "extension", extensionPath: "inline:listing-1" },
    { name: "b", source: "extension", extensionPath: "inline:listing-1" },
  ]);
});

test("a command's context uses the front end's control and reads the current state", async () => {
  const moves: unknown[] = [];
  await using session = await openTestSession({
    control: {
      newSession: async (options) => moves.push(["new", options]) > 0,
      fork: async (id, options) => moves.push(["fork", id, options]) > 0,
      switchSession: async () => false,
      navigateTree: async (id) => moves.push(["tree", id]) > 0,
      mergeBranch: async () => ({ cancelled: true }),
    },
    extensions: (bonsai) =>
      void bonsai.registerCommand("go", {
        async handler(_args, ctx) {
          await ctx.waitForIdle();
          moves.push(await ctx.newSession());
          moves.push(await ctx.fork("x"));
          moves.push(await ctx.switchSession("/s.jsonl"));
          moves.push(await ctx.navigateTree("y"));
        },
      }),
  });
  await session.command("/go");
  expect(moves).toEqual([
    ["new", {}],
    { cancelled: false },
    ["fork", "x", { position: "before" }],
    { cancelled: false },
    { cancelled: true },
    ["tree", "y"],
    { cancelled: false },
  ]);
});
