import { history } from "@bonsai-agent/testkit";
import type { ControllerOptions } from "../src/flow/controller.ts";
import { CompactionController, type CompactionSettingsInput, compactionSettings } from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

export const LONG = "U:30000 A:30000 | U:100 A:100";

export const model = { contextWindow: 60_000 };

export const settingsFor = (input: CompactionSettingsInput = {}) =>
  compactionSettings(input, { estimator: "chars4" });

export const noDigest = settingsFor({ summarizer: { fallback: "never" } });

export const broken = { stopReason: "error" as const, errorMessage: "the model is down" };

export function controllerFor(options: Partial<ControllerOptions> = {}, notation = LONG) {
  const { session } = history(notation);
  const warnings: string[] = [];
  const controller = new CompactionController({
    session,
    settings: settingsFor(),
    model: () => model,
    digest: scriptedSummariser(),
    onWarning: (error) => warnings.push(error.code),
    ...options,
  });
  return { session, controller, warnings };
}
