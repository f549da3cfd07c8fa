import { everyRow } from "@bonsai-agent/testkit";
import { expect, test, vi } from "vitest";
import type { ExtensionCommandContext } from "../src/index.ts";
import { openTestSession } from "../src/testing/index.ts";
import { saying } from "./test-tool.ts";

test("a tool or handler that waits for a reload is refused", () =>
  everyRow(["a tool", "a handler"])(async (who) => {
    const errors: unknown[] = [];
    let again: () => Promise<void> = async () => {};
    const asking = async () => {
      await again().catch((error) => errors.push(error));
      return { content: [] };
    };
    await using session = await openTestSession({
      extensions(bonsai) {
        bonsai.registerCommand("keep", {
          handler: (_args, ctx) => {
            again = async () => {
              const waited = ctx.waitForIdle().catch((error) => errors.push(error));
              await ctx.reload().finally(() => waited);
            };
          },
        });
        if (who === "a handler") bonsai.on("turn_start", async () => void (await asking()));
        bonsai.registerTool({
          ...saying("again"),
          execute: who === "a tool" ? asking : async () => ({ content: [] }),
        });
      },
      answers: [{ calls: [{ name: "again" }] }, "Done."],
    });
    await session.command("/keep");
    expect(await session.prompt("Go.")).toMatchObject({ status: "done" });
    const codes = errors.map((error) => (error as { code?: unknown }).code);
    expect(new Set(codes)).toEqual(new Set(["extension_waits_for_itself"]));
    expect(codes.length).toBeGreaterThanOrEqual(2);
    await again();
    expect(session.extensions.failed).toEqual([]);
  }));

test("a handler of the reload's own events that reloads is refused", async () => {
  const codes: unknown[] = [];
  let again: () => Promise<unknown> = async () => {};
  await using session = await openTestSession({
    extensions(bonsai) {
      const reloading = async () => {
        await again().catch(({ code }) => codes.push(code));
      };
      bonsai.on("session_shutdown", reloading);
      bonsai.on("session_start", reloading);
    },
  });
  again = () => session.extensions.reload();
  await session.extensions.reload();
  again = async () => {};
  expect(codes).toEqual(["extension_waits_for_itself", "extension_waits_for_itself"]);
});

test("a reload abandons a handler of session_start that hangs", async () => {
  vi.useFakeTimers();
  try {
    const session = await openTestSession({
      extensions: (bonsai) =>
        void bonsai.on("session_start", ({ reason }) =>
          reason === "reload" ? new Promise<void>(() => {}) : undefined,
        ),
    });
    const reloading = session.extensions.reload();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await reloading).toMatchObject({ failed: [] });
    await session.close();
  } finally {
    vi.useRealTimers();
  }
});

test("a context of an unloaded extension can be read, but does nothing", async () => {
  const kept: ExtensionCommandContext[] = [];
  await using session = await openTestSession({
    extensions: (bonsai) =>
      void bonsai.registerCommand("keep", { handler: (_args, ctx) => void kept.push(ctx) }),
    control: {
      newSession: async () => true,
      fork: async () => true,
      switchSession: async () => true,
      navigateTree: async () => true,
      mergeBranch: async () => ({ cancelled: false }),
    },
  });
  await session.command("/keep");
  await session.extensions.reload();
  const [ctx] = kept;
  const acts: Record<string, () => unknown> = {
    abort: () => ctx!.abort(),
    shutdown: () => ctx!.shutdown(),
    compact: () => ctx!.compact(),
    reload: () => ctx!.reload(),
    newSession: () => ctx!.newSession(),
    fork: () => ctx!.fork("x"),
    switchSession: () => ctx!.switchSession("x"),
    navigateTree: () => ctx!.navigateTree("x"),
  };
  for (const [name, act] of Object.entries(acts))
    await expect((async () => act())(), name).rejects.toMatchObject({
      code: "extension_unloaded",
      message: `inline:extensions-1 called ctx.${name} after it was unloaded.`,
    });
  expect(session.isShutdown).toBe(false);
  expect(ctx!.sessionManager.getSessionId()).toBe(session.session.id);
  await ctx!.waitForIdle();
  ctx!.ui.notify("Loaded anew.");
});
