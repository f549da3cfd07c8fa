import { readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Day, recordingOf } from "@bonsai-agent/lab";
import { BonsaiError, type ModelPrices, usualCacheRules } from "@bonsai-agent/messages";
import { listSessions } from "@bonsai-agent/session";
import { wrongUsage } from "../call/failure.ts";
import type { Invocation } from "../call/invocation.ts";
import { knownCatalogue } from "../call/page-source.ts";
import { latestSession } from "../call/session-choice.ts";
import { openSessionFile, sessionFile, sessionPlace } from "../call/session-file.ts";
import { inMemory, transcriptSession } from "../call/transcript-session.ts";

/** A middling model's, in US dollars per million tokens: for recordings whose model has no known price. */
const MIDDLING: ModelPrices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const USUAL_WINDOW = 200_000;

/** What was named. */
export function named(args: Invocation["args"]): string[] {
  return args.filter((each) => each !== undefined);
}

/**
 * What a call of `lab` plays again.
 * @param names sessions, transcripts and folders of both; none for the latest session of the folder
 */
export async function daysOf(invocation: Invocation, names: readonly string[]): Promise<Day[]> {
  const { io, options, output } = invocation;
  if (options.all === true && names.length > 0)
    throw wrongUsage(
      `--all already means all sessions of this folder, but you also named ${names[0]}.`,
      "Remove --all or the names.",
    );
  const windowTokens = windowOf(options.window);
  const recordings = recordingsOf(invocation, names).filter(({ recorded }) => recorded.requests > 0);
  if (recordings.length === 0)
    throw new BonsaiError({
      code: "nothing_to_replay",
      message: "These sessions contain no model answers, so there is nothing to replay.",
      hint: "Name another session. Run `bonsai session list` to list them.",
    });
  const { models } = await knownCatalogue(io, (notice) => output.notify(notice));
  return recordings.map((recording): Day => {
    const model = models.find(({ provider, id }) => `${provider}/${id}` === recording.model);
    const isKnown =
      model?.usdPerMillionTokens !== undefined &&
      (windowTokens ?? recording.windowTokens ?? model.contextWindow) !== undefined;
    return {
      ...(!isKnown && { assumed: recording.model ?? "the model" }),
      recording,
      prices: model?.usdPerMillionTokens ?? MIDDLING,
      cacheRules: model?.cacheRules ?? usualCacheRules,
      windowTokens: windowTokens ?? recording.windowTokens ?? (model?.contextWindow || USUAL_WINDOW),
    };
  });
}

function windowOf(given: unknown): number | undefined {
  if (given === undefined) return undefined;
  const tokens = Number(given);
  if (tokens > 0) return tokens;
  throw wrongUsage(
    "--window must be greater than 0.",
    "Write the model's context window in tokens, like 200k.",
  );
}

function recordingsOf(invocation: Invocation, names: readonly string[]): Day["recording"][] {
  const { io, options, output } = invocation;
  const call = { io, options };
  if (options.all === true) {
    const { sessions } = listSessions({ ...sessionPlace(call), cwd: io.cwd });
    return sessions.flatMap(({ file }) => recordedOrPassedOver(file, invocation));
  }
  if (names.length > 0) return names.flatMap((name) => recordingsNamed(name, invocation));
  const onNotice = (notice: Parameters<typeof output.notify>[0]) => output.notify(notice);
  return [recorded(latestSession({ cwd: io.cwd, call, onNotice }), invocation)];
}

function recordingsNamed(name: string, invocation: Invocation): Day["recording"][] {
  const folder = resolve(invocation.io.cwd, name);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    return [recorded(name, invocation)];
  return readdirSync(folder)
    .filter((file) => file.endsWith(".jsonl"))
    .sort()
    .flatMap((file) => recordedOrPassedOver(join(folder, file), invocation));
}

/** One file of a folder that is no session keeps nobody from the others. */
function recordedOrPassedOver(file: string, invocation: Invocation): Day["recording"][] {
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
