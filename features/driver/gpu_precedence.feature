@profile:driver-gpu @component:driver @needs:gpu-driver
Feature: Precedence of several configurations
  Classes and claims may both have configuration for a device. The driver does not merge them but uses one. In these
  scenarios one of two configurations has an unknown sharing strategy, which shows which one was used.

  Background:
    Given node "n1" running the driver

  @NV-078 @NV-079 @needs:several-gpus
  Scenario: Configuration of the claim takes precedence over the class, and later entries over earlier ones
    Given a ResourceClaim "claim-good" allocated on "n1" and configured by:
      | source    | request | kind      | fields                       |
      | FromClaim | gpu     | GpuConfig | {}                           |
      | FromClass | gpu     | GpuConfig | {sharing: {strategy: Magic}} |
    And a ResourceClaim "claim-bad" allocated on "n1" and configured by:
      | source    | request | kind      | fields                       |
      | FromClass | gpu     | GpuConfig | {}                           |
      | FromClaim | gpu     | GpuConfig | {sharing: {strategy: Magic}} |
    And a ResourceClaim "later-good" allocated on "n1" and configured by:
      | source    | request | kind      | fields                       |
      | FromClaim | gpu     | GpuConfig | {sharing: {strategy: Magic}} |
      | FromClaim | gpu     | GpuConfig | {}                           |
    And a ResourceClaim "later-bad" allocated on "n1" and configured by:
      | source    | request | kind      | fields                       |
      | FromClaim | gpu     | GpuConfig | {}                           |
      | FromClaim | gpu     | GpuConfig | {sharing: {strategy: Magic}} |
    # The earlier entry is for other devices. It is not applied, so it does not have to fit.
    And a ResourceClaim "later-fits" allocated on "n1" and configured by:
      | source    | request | kind            | fields |
      | FromClass | gpu     | MigDeviceConfig | {}     |
      | FromClaim | gpu     | MigDeviceConfig | {}     |
      | FromClaim | gpu     | GpuConfig       | {}     |
    When claims "claim-good, claim-bad, later-good, later-bad, later-fits" are prepared on "n1" in one call
    Then claim "claim-good" is prepared [NV-078]
    And claim "claim-bad" is refused, naming "Magic" [NV-078]
    And claim "later-good" is prepared [NV-079]
    And claim "later-bad" is refused, naming "Magic" [NV-079]
    And claim "later-fits" is prepared [NV-079]

  @NV-080 @NV-081 @needs:several-gpus
  Scenario: Naming a request gives no precedence and does not apply to its subrequests
    Given a ResourceClaim "general-last" allocated on "n1" and configured by:
      | source    | request | kind      | fields                       |
      | FromClaim | gpu     | GpuConfig | {}                           |
      | FromClaim | all     | GpuConfig | {sharing: {strategy: Magic}} |
    And a ResourceClaim "named-last" allocated on "n1" and configured by:
      | source    | request | kind      | fields                       |
      | FromClaim | all     | GpuConfig | {sharing: {strategy: Magic}} |
      | FromClaim | gpu     | GpuConfig | {}                           |
    And a ResourceClaim "parent" allocated on "n1" with:
      """
      results: [{request: gpu/big, device: free}]
      config:
        - requests: [gpu]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: Magic}}
      """
    When claims "general-last, named-last, parent" are prepared on "n1" in one call
    Then claim "general-last" is refused, naming "Magic" [NV-080]
    And claim "named-last" is prepared [NV-080]
    And claim "parent" is prepared [NV-081]

  @NV-081b @needs:several-gpus
  Scenario: Configuration applies to the requests that it names, and to no other
    Given a ResourceClaim "other" allocated on "n1" with:
      """
      results: [{request: mine, device: free}, {request: other, driver: other.dra.test, device: other-0}]
      config:
        - requests: [other]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: Magic}}
      """
    And a ResourceClaim "second" allocated on "n1" with:
      """
      results: [{request: one, device: free}, {request: two, device: free}]
      config:
        - requests: [two]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: Magic}}
      """
    And a ResourceClaim "both" allocated on "n1" with:
      """
      results: [{request: one, device: free}, {request: two, device: free}]
      config:
        - requests: [one, two]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: Magic}}
        - requests: [one]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig}
      """
    When claims "other, second, both" are prepared on "n1" in one call
    Then claim "other" is prepared
    And claim "second" is refused, naming "Magic"
    And claim "both" is refused, naming "Magic"

  @NV-077 @needs:several-gpus
  Scenario: Configuration for the ComputeDomain driver is refused if it names the request
    Given a ResourceClaim "named" allocated on "n1" and configured by:
      | source    | request | kind                       | fields                              |
      | FromClaim | gpu     | ComputeDomainChannelConfig | {domainID: d0, allocationMode: All} |
    And a ResourceClaim "general" allocated on "n1" and configured by:
      | source    | request | kind                       | fields                              |
      | FromClaim | all     | ComputeDomainChannelConfig | {domainID: d0, allocationMode: All} |
    And a ResourceClaim "daemon" allocated on "n1" and configured by:
      | source    | request | kind                      | fields         |
      | FromClass | gpu     | ComputeDomainDaemonConfig | {domainID: d0} |
    And a ResourceClaim "domain" allocated on "n1" and configured by:
      | source    | request | kind          | fields                |
      | FromClaim | gpu     | ComputeDomain | {spec: {numNodes: 1}} |
    When claims "named, general, daemon, domain" are prepared on "n1" in one call
    Then claim "named" is refused on its own
    And claim "general" is prepared
    And claim "daemon" is refused on its own
    And claim "domain" is refused on its own
