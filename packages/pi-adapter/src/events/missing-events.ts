/** Events of pi that never come here, each with why. */
export const missingEvents: Readonly<Record<string, string>> = {
  resources_discover: "Bonsai has no skills, prompt templates or themes that an extension could bring",
  project_trust: "trust is asked for before any extension of a project is loaded",
  context_with_system: "the event context has the messages, before_agent_start the system prompt",
  cache_warming_decision: "Bonsai does not keep caches warm",
  before_provider_headers: "headers stand in registerProvider; before_provider_request has the request",
  agent_before_settle:
    "agent_end comes when the work is done; sendMessage and appendEntry add to the session",
};
