import { readdirSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import {
  type Day,
  type PlayedPolicy,
  type Policy,
  policyNamed,
  policyOf,
  recordingOf,
  usualPolicies,
} from "@bonsai-agent/lab";
import { BonsaiError, type ModelPrices, usualCacheRules } from "@bonsai-agent/messages";
import { type Catalogue, type CatalogueModel, referenceOf } from "@bonsai-agent/models";
import { providerCompactionOf } from "@bonsai-agent/models/host";
import { listSessions } from "@bonsai-agent/session";
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

/** The recorded days, on the models of the recordings. */
export function daysOf(invocation: Invocation, { models }: Catalogue): Day[] {
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
  return recordings.map((recording) => {
    const model = models.find((each) => referenceOf(each) === recording.model);
    return dayOn(model, { recording, windowTokens: windowTokens ?? recording.windowTokens });
  });
}

/** A recording as if on a model. The window is the model's by default. */
function dayOn(
  model: CatalogueModel | undefined,
  {
    recording,
    windowTokens = model?.contextWindow,
  }: Pick<Day, "recording"> & { windowTokens: number | undefined },
): Day {
  const name = model ? referenceOf(model) : (recording.model ?? "the model");
  const prices = model?.usdPerMillionTokens;
  return {
    ...((prices === undefined || windowTokens === undefined) && { assumed: name }),
    recording,
    prices: prices ?? USUAL_PRICES,
    cacheRules: model?.cacheRules ?? usualCacheRules,
    windowTokens: windowTokens || USUAL_WINDOW,
    provider: model
      ? providerCompactionOf(model)
      : { unavailable: `${name} is not in the catalogue.`, isSealed: false },
  };
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

/** The policies to replay: each on the recorded models, or on each model that is named. */
export async function policiesOf(
  invocation: Invocation,
  { catalogue, days }: { catalogue: Catalogue; days: readonly Day[] },
): Promise<PlayedPolicy[]> {
  const { options } = invocation;
  const policies = namedPolicies(invocation);
  const named = options.model as string[] | undefined;
  if (named === undefined) return policies;
  const models = await Promise.all(named.map((name) => catalogue.find(name)));
  const windowTokens = options.window as number | undefined;
  return models.flatMap((model) => {
    const others = days.map(({ recording }) => dayOn(model, { recording, windowTokens }));
    return policies.map((each) => ({ ...each, name: `${each.name} on ${referenceOf(model)}`, days: others }));
  });
}

/** The user's own settings come first, then the presets, unless some are named. */
function namedPolicies(invocation: Invocation): Policy[] {
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
