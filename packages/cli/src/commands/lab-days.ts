import { readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Invocation } from "@bonsai-agent/app/invocation";
import { knownCatalogue } from "@bonsai-agent/app/page-source";
import { latestSession } from "@bonsai-agent/app/session-choice";
import { openSessionFile, sessionFile, sessionPlace } from "@bonsai-agent/app/session-file";
import { type Day, type Recording, recordingOf } from "@bonsai-agent/lab";
import { BonsaiError, type ModelPrices, usualCacheRules } from "@bonsai-agent/messages";
import { listSessions } from "@bonsai-agent/session";
import { inMemory, transcriptSession } from "../transcript-session.ts";

/** A middling model's, in US dollars per million tokens: for recordings whose model has no known price. */
const MIDDLING: ModelPrices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const USUAL_WINDOW = 200_000;

/**
 * What a call of `lab` plays again.
 * @param name a session, a transcript or a folder of sessions; undefined for the folder's latest
 */
export async function daysOf(invocation: Invocation, name: string | undefined): Promise<Day[]> {
  const { io, options } = invocation;
  const recordings = recordingsOf(invocation, name).filter(({ recorded }) => recorded.requests > 0);
  if (recordings.length === 0)
    throw new BonsaiError({
      code: "nothing_to_replay",
      message: "No answer of a model was recorded there.",
      hint: "Name a session in which work was done; `bonsai sessions` lists them.",
    });
  const { models } = await knownCatalogue(io);
  return recordings.map((recording): Day => {
    const model = models.find(({ provider, id }) => `${provider}/${id}` === recording.model);
    return {
      recording,
      prices: model?.usdPerMillionTokens ?? MIDDLING,
      cacheRules: model?.cacheRules ?? usualCacheRules,
      windowTokens: Number(
        options.window ?? recording.windowTokens ?? (model?.contextWindow || USUAL_WINDOW),
      ),
    };
  });
}

function recordingsOf(invocation: Invocation, name: string | undefined): Recording[] {
  const { io, options, output } = invocation;
  const call = { io, options };
  if (options.all === true) {
    const { sessions } = listSessions({ ...sessionPlace(call), cwd: io.cwd });
    return sessions.map(({ file }) => recorded(file, invocation));
  }
  if (name === undefined) {
    const onNotice = (notice: Parameters<typeof output.notify>[0]) => output.notify(notice);
    return [recorded(latestSession({ cwd: io.cwd, call, onNotice }), invocation)];
  }
  const folder = resolve(io.cwd, name);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    return readdirSync(folder)
      .filter((file) => file.endsWith(".jsonl"))
      .sort()
      .flatMap((file) => recordedOrPassedOver(join(folder, file), invocation));
  const named = { ...invocation, args: [name] };
  const imported = transcriptSession(named, "what is played is a session made of it");
  return [
    imported === undefined ? recorded(sessionFile(named), invocation) : recordingOf(inMemory(imported)),
  ];
}

/** One file of a folder that is no session keeps nobody from the others. */
function recordedOrPassedOver(file: string, invocation: Invocation): Recording[] {
  try {
    return [recorded(file, invocation)];
  } catch (error) {
    if (!BonsaiError.is(error)) throw error;
    invocation.output.notify({
      code: "session_passed_over",
      message: `${file} is passed over: ${error.message}`,
    });
    return [];
  }
}

function recorded(file: string, invocation: Invocation): Recording {
  const session = openSessionFile(file, invocation);
  try {
    return recordingOf(session);
  } finally {
    session.close();
  }
}
