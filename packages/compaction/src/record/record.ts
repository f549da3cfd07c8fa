import { SecretFilter } from "@bonsai-agent/messages";
import { withoutRedactionMarks } from "@bonsai-agent/messages/host";
import { emptyRecord, type SpanRecord } from "../details.ts";
import { outcomesAfter } from "./outcomes.ts";
import {
  clippedClosings,
  clippedWords,
  isUserMessage,
  joinedWords,
  type SourceMessage,
  statementsIn,
} from "./statements.ts";
import { joinedTerms, termsAfter } from "./terms.ts";

/** A message of a span. The summary of a branch comes with the branch's record. */
export interface RecordedMessage extends SourceMessage {
  record?: SpanRecord | undefined;
}

export interface RecordOptions {
  /** The record before these messages. Default: empty. */
  earlier?: SpanRecord | undefined;
  /** Oldest first. */
  messages: readonly RecordedMessage[];
  /** Later messages, which stay in view: they resolve failures and to-dos, but are not recorded. Default: none. */
  following?: readonly SourceMessage[] | undefined;
  /** Upper bound for the user's words, in tokens. */
  wordsTokens: number;
  /** The topic to prefer if not all of the user's words fit. Default: none. */
  focus?: string | undefined;
  /** Knows the secrets of the session. Default: a new filter without any. */
  secrets?: SecretFilter | undefined;
}

/** Upper bound for the statements in a record, in tokens. */
const CLOSINGS_TOKENS = 4_000;

/** Extends a record with more messages, and redacts secrets. Reads only these messages. Never throws on damaged ones. */
export function recordAfter(options: RecordOptions): SpanRecord {
  const { wordsTokens, focus, secrets = new SecretFilter() } = options;
  const { messages, following } = withoutSecrets(options, secrets);
  // An older version may have stored secrets in the earlier record too.
  const earlier = recordWithoutSecrets(options.earlier ?? emptyRecord, secrets);
  let record = earlier;
  let from = 0;
  messages.forEach(({ record: branch }, at) => {
    if (branch === undefined) return;
    record = withBranch(withMessages(record, messages.slice(from, at)), branch);
    from = at;
  });
  const whole = withMessages(record, messages.slice(from), following);
  return {
    ...whole,
    spans: earlier.spans + 1,
    words: clippedWords(whole.words, { maxTokens: wordsTokens, focus }),
    closings: clippedClosings(whole.closings, { maxTokens: CLOSINGS_TOKENS }),
  };
}

/** The messages without secrets; a later one can give away a secret of an earlier one. */
function withoutSecrets({ messages, following = [] }: RecordOptions, secrets: SecretFilter) {
  const all: readonly RecordedMessage[] = [...messages, ...following];
  const redacted = secrets.values(all.map(({ message }) => message)).map((message, at): RecordedMessage => {
    const { record } = all[at]!;
    if (record === undefined && message === all[at]!.message) return all[at]!;
    return { ...all[at], message, record: record && recordWithoutSecrets(record, secrets) };
  });
  return { messages: redacted.slice(0, messages.length), following: redacted.slice(messages.length) };
}

function recordWithoutSecrets(record: SpanRecord, secrets: SecretFilter): SpanRecord {
  const { terms, ...others } = secrets.value(record);
  const uses = terms.uses.filter(({ term }) => withoutRedactionMarks(term) === term);
  return { ...others, terms: { ...terms, uses } };
}

function withMessages(
  record: SpanRecord,
  messages: readonly SourceMessage[],
  following: readonly SourceMessage[] = [],
): SpanRecord {
  const isLastOpen = following[0] !== undefined && !isUserMessage(following[0].message);
  const { said, closings, turns, unanswered } = statementsIn(messages, record, isLastOpen);
  return {
    ...record,
    turns,
    unanswered,
    words: joinedWords(record.words, said),
    closings: [...record.closings, ...closings],
    terms: termsAfter(record.terms, messages),
    outcomes: outcomesAfter(record.outcomes, messages, following),
  };
}

/** Adds the record of a branch. Its irreversible commands still count; its failures and to-dos do not. */
function withBranch(record: SpanRecord, branch: SpanRecord): SpanRecord {
  // If the branch has its own compaction, its record repeats statements from before the fork.
  const known = new Set([...record.words.said, ...record.closings].map(({ entryId }) => entryId));
  const isNew = ({ entryId }: { entryId?: string | undefined }) =>
    entryId === undefined || !known.has(entryId);
  const numbered = <Item extends { turn: number; entryId?: string | undefined }>(items: readonly Item[]) =>
    items.filter(isNew).map((item) => ({ ...item, turn: item.turn + record.turns, isOnBranch: true }));
  const words = joinedWords(record.words, numbered(branch.words.said));
  return {
    ...record,
    turns: record.turns + branch.turns,
    words: { ...words, leftOut: words.leftOut + branch.words.leftOut },
    closings: [...record.closings, ...numbered(branch.closings)],
    terms: joinedTerms(record.terms, branch.terms),
    outcomes: {
      ...record.outcomes,
      irreversible: [...record.outcomes.irreversible, ...branch.outcomes.irreversible],
    },
  };
}
