import { count } from "@bonsai-agent/messages/numbers";
import type { ModelNotice } from "@bonsai-agent/models";

/** Something that a user should know and that did not stop the work. */
export interface AgentNotice {
  /** "warning" if the user may want to change something. */
  level: "info" | "warning";
  /** Stable, snake_case. */
  code: string;
  /** One sentence, and what to do about it. */
  message: string;
  /** With the code `model_retry`: the request that is sent again. */
  retry?: {
    attempt: number;
    maxAttempts: number;
    delayMs: number;
    /** Why it failed, in a sentence. */
    why: string;
  };
}

/** The message of a thrown value: handlers, tools and extensions may throw anything. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** @param reason why the provider did not summarise the branch, in a sentence */
export function branchSummaryAsText(reason: string): AgentNotice {
  return {
    level: "info",
    code: "branch_summary_as_text",
    message: `The provider did not summarise the branch, although compaction.summarizer.kind is provider. ${reason} Bonsai sent the branch as text instead.`,
  };
}

/** Describes an event of a request to the user. */
export function modelNotice(notice: ModelNotice): AgentNotice {
  switch (notice.type) {
    case "retry": {
      const { attempt, maxAttempts, delayMs } = notice;
      const why = sentence(notice.failure.message);
      return {
        level: "warning",
        code: "model_retry",
        message: `${why} Retry ${attempt} of ${maxAttempts} in ${Math.ceil(delayMs / 1000)} s.`,
        retry: { attempt, maxAttempts, delayMs, why },
      };
    }
    case "repair":
      return {
        level: "info",
        /** The history had messages that the provider refuses. The request was repaired; the session is unchanged. */
        code: "history_repaired",
        message: notice.repairs.map((repair) => sentence(repair.detail)).join(" "),
      };
    case "image_refused":
      return {
        level: "warning",
        /** The provider refused an image. Bonsai sent the request again without it. */
        code: "image_refused",
        message: `${notice.provider}/${notice.modelId} refused ${notice.count === 1 ? "an image" : `${count(notice.count)} images`}: ${sentence(notice.reason)} Bonsai sent the request again without ${notice.count === 1 ? "it" : "them"}. Use a smaller copy or another format, or choose another model.`,
      };
    case "summary_refused":
      return {
        level: "warning",
        /** The provider refused its own summary of a compaction. Bonsai sends the readable summary instead. */
        code: "summary_refused",
        message: `${notice.provider}/${notice.modelId} refused its own summary of the latest compaction: ${sentence(notice.reason)} From now on Bonsai sends the readable summary of this compaction. You need to do nothing.`,
      };
    case "output_cap_lowered":
      return {
        level: "info",
        code: "output_cap_lowered",
        message: `Lowered the output limit from ${count(notice.fromTokens)} to ${count(notice.toTokens)} tokens: the model's window has no room for more.`,
      };
    case "window_learned":
      return {
        level: "warning",
        code: "window_learned",
        message: `The server's window is ${count(notice.toTokens)} tokens${notice.fromTokens === undefined ? "" : `, not ${count(notice.fromTokens)}`}. This session uses the new size.`,
      };
    case "odd_end":
      return oddEnd(notice);
    case "usage_ignored":
      return {
        level: "warning",
        code: "usage_ignored",
        message: `${notice.provider}/${notice.modelId} reported an impossible token count (${shownCount(notice)}). Bonsai ignores this count in sizes and costs.`,
      };
  }
}

function oddEnd(notice: Extract<ModelNotice, { type: "odd_end" }>): AgentNotice {
  const { provider, modelId, reason, isWithheld } = notice;
  const from = `${provider}/${modelId}`;
  if (isWithheld)
    return {
      level: "warning",
      /** A content filter of the provider ended the answer. */
      code: "answer_withheld",
      message: `${from} withheld the rest of the answer (${reason}). Rephrase the request, or choose another model.`,
    };
  return {
    level: "warning",
    /** The provider ended an answer for an unknown reason. */
    code: "answer_end_unknown",
    message: `${from} ended the answer for an unknown reason (${reason}). If the answer is incomplete, ask the agent to continue.`,
  };
}

function shownCount(notice: Extract<ModelNotice, { type: "usage_ignored" }>): string {
  const { reportedTokens, estimatedTokens } = notice;
  const reported = Number.isNaN(reportedTokens) ? "not a whole number of 0 or more" : count(reportedTokens);
  return estimatedTokens === undefined ? reported : `${reported} for a request of ~${count(estimatedTokens)}`;
}

/** A text of a server, with a full stop, because another sentence follows. */
function sentence(text: string): string {
  const trimmed = text.trim();
  return /[.!?。…]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}
