import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SettingsManager } from "../src/modules/coding-agent.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pi-settings-"));
  mkdirSync(join(folder, ".bonsai"));
});
afterEach(() => rmSync(folder, { recursive: true }));

type Calls = Record<string, (...given: unknown[]) => unknown>;
const create = (projectTrusted?: boolean) =>
  SettingsManager.create(
    folder,
    folder,
    projectTrusted === undefined ? {} : { projectTrusted },
  ) as unknown as Calls;
const own = () => join(folder, "settings.json");

test("Bonsai's settings under pi's names, the trusted project's over the user's", () => {
  writeFileSync(
    own(),
    JSON.stringify({
      model: "openai/gpt-5/mini",
      thinking: "high",
      compaction: { keepRecentTokens: 5_000 },
      retry: { maxRetries: 0 },
    }),
  );
  writeFileSync(join(folder, ".bonsai", "settings.json"), JSON.stringify({ compaction: { enabled: false } }));
  const asked = create();
  expect(asked.getDefaultProvider!()).toBe("openai");
  expect(asked.getDefaultModel!()).toBe("gpt-5/mini");
  expect(asked.getDefaultThinkingLevel!()).toBe("high");
  expect(asked.getRetryEnabled!()).toBe(false);
  expect(asked.getCompactionSettings!()).toEqual({
    enabled: true,
    reserveTokens: 16_384,
    keepRecentTokens: 5_000,
  });
  expect(asked.isProjectTrusted!()).toBe(false);
  expect(create(true).getCompactionEnabled!()).toBe(false);
  expect(asked.getSteeringMode!()).toBe("one-at-a-time");
  expect(asked.drainErrors!()).toEqual([]);
});

test("what is set holds for the object, and no file is written", async () => {
  writeFileSync(own(), JSON.stringify({ model: "openai/gpt-5" }));
  const settings = create();
  settings.setDefaultModelAndProvider!("anthropic", "claude");
  settings.setCompactionEnabled!(false);
  settings.applyOverrides!({ retry: { maxRetries: 9 } });
  expect([settings.getDefaultProvider!(), settings.getDefaultModel!()]).toEqual(["anthropic", "claude"]);
  expect(settings.getCompactionSettings!()).toMatchObject({ enabled: false, keepRecentTokens: 20_000 });
  expect(settings.getRetrySettings!()).toMatchObject({ maxRetries: 9, baseDelayMs: 2_000 });
  await settings.flush!();
  expect(JSON.parse(readFileSync(own(), "utf8"))).toEqual({ model: "openai/gpt-5" });
  expect(settings.getGlobalSettings!()).toMatchObject({ defaultProvider: "openai", model: "openai/gpt-5" });
});

test("a file that cannot be used is an error to be asked for, and the defaults hold", async () => {
  writeFileSync(own(), "{ not JSON");
  const settings = create();
  expect(settings.getCompactionEnabled!()).toBe(true);
  expect(settings.drainErrors!()).toMatchObject([{ scope: "global", path: own() }]);
  writeFileSync(own(), JSON.stringify({ thinking: "none of them" }));
  await settings.reload!();
  expect(settings.drainErrors!()).toMatchObject([{ error: { code: "setting_invalid" } }]);
  writeFileSync(own(), JSON.stringify({ theme: "dark" }));
  await settings.reload!();
  expect([settings.getTheme!(), settings.drainErrors!()]).toEqual(["dark", []]);
});

test("settings in memory, in pi's shape", () => {
  const settings = SettingsManager.inMemory({
    defaultProvider: "p",
    compaction: { reserveTokens: 1 },
  }) as unknown as Calls;
  expect([settings.getDefaultProvider!(), settings.getCompactionReserveTokens!()]).toEqual(["p", 1]);
  expect(settings.getProjectSettings!()).toEqual({});
});
