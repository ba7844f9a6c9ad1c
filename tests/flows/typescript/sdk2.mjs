// @modelcontextprotocol/client 2.x: both eras, by handshake, by probing or pinned.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

import { run, watchedFetch, wish } from "./flow.mjs";

const asked = wish();
const statuses = [];
const negotiation = {
  probed: { versionNegotiation: { mode: "auto" } },
  pinned: { versionNegotiation: { mode: { pin: "2026-07-28" } } },
}[asked.era] ?? { supportedProtocolVersions: [asked.era] };
const client = new Client({ name: "flows", version: "1" }, negotiation);
const transport = new StreamableHTTPClientTransport(new URL(asked.url), {
  requestInit: { headers: { Authorization: `Bearer ${asked.key}` } },
  fetch: watchedFetch(statuses),
});

await run({
  client,
  transport,
  asked,
  statuses,
  call: (name, args) => client.callTool({ name, arguments: args }),
  facts: () => ({
    protocolVersion: client.getNegotiatedProtocolVersion(),
    serverInfo: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
  }),
});
