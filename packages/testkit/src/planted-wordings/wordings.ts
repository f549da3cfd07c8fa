/**
 * How people of one language say things. `«…»` marks the words that must be seen again, `{slot}`s are filled by the
 * generator; what has no slot is said once at most. What ends later has two parts, divided by `=>`: what is said first,
 * and what ends it.
 */
export interface Wordings {
  /** Between two sentences on one line. */
  stop: string;
  constraint: readonly string[];
  preference: readonly string[];
  decision: readonly string[];
  fact: readonly string[];
  todo: readonly string[];
  /** Said by the agent when it ends a turn. */
  agentDecision: readonly string[];
  agentFact: readonly string[];
  /** A constraint that the user takes back. */
  withdrawn: readonly string[];
  /** A decision of the user with a value that becomes another. */
  changed: readonly string[];
  /** The user names it, the agent does it. */
  finished: readonly string[];
  /** Lines of the agent's list of what is to do. */
  steps: readonly string[];
  /** The agent on a `{command}` that runs again. */
  mended: readonly string[];
  /** In front of what is said in passing; one may be empty. */
  asides: readonly string[];
  requests: readonly string[];
  questions: readonly string[];
  fillers: readonly string[];
  /** The agent, before it calls a tool. */
  chatter: readonly string[];
  /** The agent, when it ends a turn. */
  closings: readonly string[];
}
