import { readdirSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { type Day, type Policy, policyNamed, policyOf, recordingOf, usualPolicies } from "@bonsai-agent/lab";
import { BonsaiError, type ModelPrices, usualCacheRules } from "@bonsai-agent/messages";
import { listSessions } from "@bonsai-agent/session";
import { knownCatalogue } from "../call/catalogue.ts";
import { wrongUsage } from "../call/failure.ts";
import type { Invocation } from "../call/invocation.ts";
import { readJsonFile } from "../call/json-file.ts";
import { latestSession } from "../call/session-choice.ts";
import { openSessionFile, sessionFile, sessionPlace } from "../call/session-file.ts";
import { inMemory, transcriptSession } from "../call/session-import.ts";
import { callSettings } from "../call/settings.ts";

/** Prices of a mid-range model in US dollars per million tokens, for recordings whose model has no known price. */
const USUAL_PRICES: ModelPrices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const USUAL_WINDOW = 200_000;

export async function daysOf(invocation: Invocation): Promise<Day[]> {
  const { options, args } = invocation;
  const names = args.filter((each) => each !== undefined);
  if (options.all === true && names.length > 0)
    throw wrongUsage(
      `--all already means all sessions of this folder, but you also named ${names[0]}.`,
      "Remove --all or the names.",
    );
  const windowTokens = options.window as number | undefined;
  const recordings = recordingsOf(invocation, names).filter(({ recorded }) => recorded.requests > 0);
  if (recordings.length === 0)
    throw new BonsaiError({
      code: "nothing_to_replay",
      message: "These sessions contain no model answers, so there is nothing to replay.",
      hint: "Name another session. Run `bonsai session list` to list them.",
    });
  const { models } = await knownCatalogue(invocation);
  return recordings.map((recording): Day => {
    const model = models.find(({ provider, id }) => `${provider}/${id}` === recording.model);
    const isKnown =
      model?.usdPerMillionTokens !== undefined &&
      (windowTokens ?? recording.windowTokens ?? model.contextWindow) !== undefined;
    return {
      ...(!isKnown && { assumed: recording.model ?? "the model" }),
      recording,
      prices: model?.usdPerMillionTokens ?? USUAL_PRICES,
      cacheRules: model?.cacheRules ?? usualCacheRules,
      windowTokens: windowTokens ?? recording.windowTokens ?? (model?.contextWindow || USUAL_WINDOW),
    };
  });
}

function recordingsOf(invocation: Invocation, names: readonly string[]): Day["recording"][] {
  const { io, options } = invocation;
  if (options.all === true)
    return listSessions({ ...sessionPlace(invocation), cwd: io.cwd }).sessions.flatMap(({ file }) =>
      recordedOrSkipped(file, invocation),
    );
  if (names.length > 0) return names.flatMap((name) => recordingsNamed(name, invocation));
  return [recorded(latestSession(invocation), invocation)];
}

function recordingsNamed(name: string, invocation: Invocation): Day["recording"][] {
  const folder = resolve(invocation.io.cwd, name);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    return [recorded(name, invocation)];
  return readdirSync(folder)
    .filter((file) => file.endsWith(".jsonl"))
    .sort()
    .flatMap((file) => recordedOrSkipped(join(folder, file), invocation));
}

function recordedOrSkipped(file: string, invocation: Invocation): Day["recording"][] {
  try {
    return [recorded(file, invocation)];
  } catch (error) {
    if (!BonsaiError.is(error)) throw error;
    invocation.output.notify({
      code: "session_passed_over",
      message: `Skipped ${file}: ${error.message}`,
    });
    return [];
  }
}

/** @param name a session, by its file or id, or another agent's transcript */
function recorded(name: string, invocation: Invocation): Day["recording"] {
  const one = { ...invocation, args: [name] };
  const imported = transcriptSession(one, "Replaying it as a session.");
  const session = imported === undefined ? openSessionFile(sessionFile(one), invocation) : inMemory(imported);
  try {
    return recordingOf(session);
  } finally {
    session.close();
  }
}

/** The user's own settings come first, then the presets, unless some are named. */
export function policiesOf(invocation: Invocation): Policy[] {
  const named = invocation.options.policy as string[] | undefined;
  if (named !== undefined) return named.map((name) => policyFor(name, invocation.io.cwd));
  return [{ name: "yours", settings: callSettings(invocation), input: {} }, ...usualPolicies()];
}

/** A file of settings, where there is one of that name, else a preset with its changes. */
function policyFor(name: string, cwd: string): Policy {
  const file = resolve(cwd, name);
  const isFile = statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
  if (!isFile && !name.endsWith(".json")) return policyNamed(name);
  if (!isFile)
    throw new BonsaiError({
      code: "policy_file_unreadable",
      message: `The file ${file} does not exist.`,
      hint: "Name a file with compaction settings, or a preset with changes like pi+64k.",
    });
  try {
    return policyOf(basename(name), readJsonFile(file));
  } catch (error) {
    if (!BonsaiError.is(error) || error.message.includes(file)) throw error;
    throw new BonsaiError({
      code: error.code,
      message: `${file}: ${error.message}`,
      hint: error.hint,
      cause: error,
    });
  }
}
