import { compactionSettings, readContext } from "@bonsai-agent/compaction";
import { type Calibration, type Message, promptTokens } from "@bonsai-agent/messages";
import { answeringModel, type Entry, type Session } from "@bonsai-agent/session";

/** What was said and done on one path of a session, whatever its model was shown of it. */
export interface Recording {
  /** Oldest first; its own compactions, masks and undone ways are taken back. */
  messages: readonly Message[];
  /** `provider/model` of the latest answer; undefined where none was recorded. */
  model: string | undefined;
  /** System prompt and tools, in tokens: as the recorded usage tells, else 0. */
  fixedTokens: number;
  /** What the provider counted of a message, for each token of the plain count. 1 where nothing tells. */
  countRatio: number;
  /** As recorded, to compare with: requests, and all tokens that were sent. */
  recorded: { requests: number; sentTokens: number; usd: number; compactions: number };
}

/** The recording of the path to a session's position, or to another entry. @throws BonsaiError `entry_not_found` */
export function recordingOf(session: Session, leafId: string | null = session.leafId): Recording {
  const path = session.path(leafId);
  const messages = path.flatMap(messageOf);
  const answers = messages.filter((message) => message.role === "assistant");
  const { calibration } = readContext({ session, settings: compactionSettings(), leafId });
  const learned: Calibration | undefined = calibration();
  return {
    messages,
    model: path.map((entry) => answeringModel(entry)).findLast((model) => model !== undefined),
    fixedTokens: Math.max(0, Math.round(learned?.overheadTokens ?? 0)),
    countRatio: learned?.ratio ?? 1,
    recorded: {
      requests: answers.length,
      sentTokens: answers.reduce(
        (sum, { usage }) => sum + (usage === undefined ? 0 : promptTokens(usage)),
        0,
      ),
      usd: answers.reduce((sum, { usage }) => sum + (usage?.cost?.total ?? 0), 0),
      compactions: path.filter(({ type }) => type === "compaction").length,
    },
  };
}

function messageOf(entry: Entry): Message[] {
  if (entry.type === "message" && typeof entry.message === "object" && entry.message !== null) {
    const message = entry.message as Message;
    // What failed was asked for again, and the answer that counts stands behind it.
    const isVoid = message.role === "assistant" && ["error", "aborted"].includes(message.stopReason);
    return isVoid ? [] : [message];
  }
  return [];
}
