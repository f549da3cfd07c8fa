/** Something that a user should know and that did not stop the work. */
export interface AgentNotice {
  level: "info" | "warning";
  /** Stable, snake_case. */
  code: string;
  /** One sentence, and what to do about it. */
  message: string;
}
