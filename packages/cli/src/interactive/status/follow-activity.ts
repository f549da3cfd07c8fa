import type { LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { ActivityModel } from "./activity-model.ts";

export interface FollowActivityOptions {
  lifecycle: Lifecycle<LifecycleEvents>;
  model: ActivityModel;
  now: () => number;
  /** Called after each change of the model. */
  changed: () => void;
}

/** Tells the model what the lifecycle tells. */
export function followActivity(options: FollowActivityOptions): void {
  followRun(options);
  followTools(options);
  followWork(options);
}

function followRun({ lifecycle, model, now, changed }: FollowActivityOptions): void {
  lifecycle.on("agent_start", () => {
    model.runBegan(now());
    changed();
  });
  for (const name of ["agent_end", "session_start", "session_shutdown"] as const)
    lifecycle.on(name, () => {
      model.ended();
      changed();
    });
  lifecycle.on("message_start", ({ message }) => {
    if (message.role !== "assistant") return;
    model.answerBegan(now());
    changed();
  });
  lifecycle.on("message_update", ({ assistantMessageEvent }) => {
    if (model.answerGrew(assistantMessageEvent, now())) changed();
  });
  lifecycle.on("message_stored", ({ message }) => {
    if (message.role === "assistant") model.answerEnded();
    else if (message.role === "bashExecution") model.aloneEnded();
    else return;
    changed();
  });
}

function followTools({ lifecycle, model, now, changed }: FollowActivityOptions): void {
  lifecycle.on("tool_execution_start", ({ toolCallId, toolName, args }) => {
    model.toolBegan({ id: toolCallId, name: toolName, args, nowMs: now() });
    changed();
  });
  lifecycle.on("tool_execution_end", ({ toolCallId }) => {
    model.toolEnded(toolCallId);
    changed();
  });
  lifecycle.on("user_bash", ({ command }) => {
    model.commandBegan(command, now());
    changed();
    return undefined;
  });
}

function followWork({ lifecycle, model, now, changed }: FollowActivityOptions): void {
  lifecycle.on("auto_compaction_start", ({ reason }) => {
    model.compactionBegan(reason, now());
    changed();
  });
  lifecycle.on("auto_compaction_end", () => {
    model.compactionEnded();
    changed();
  });
  lifecycle.on("session_before_tree", ({ preparation }) => {
    if (!preparation.userWantsSummary || preparation.entriesToSummarize.length === 0) return undefined;
    model.branchSummaryBegan(now());
    changed();
    return undefined;
  });
  lifecycle.on("session_tree", () => {
    model.aloneEnded();
    changed();
  });
}
