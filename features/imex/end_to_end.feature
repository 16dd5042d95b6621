@profile:imex @component:claim-controller @component:scheduler @component:binder @component:compute-domain-controller
@needs:compute-domain @component:compute-domain-plugin @needs:fake-nvml @component:kubelet @needs:run-kubelet
Feature: From a ComputeDomain to a channel in a container
  A job names the channel template of its ComputeDomain; controller, scheduler, binder, kubelet and driver work
  together.

  @NV-147 @NV-150 @NV-163 @NV-166
  Scenario: A pod of a ComputeDomain runs with its IMEX channel
    Given the DeviceClass of IMEX channels
    And node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 1 nodes
    When a pod "rank-0" using template "job-channel" is created
    Then pod "rank-0" is bound to "n1" [NV-147]
    And of the device nodes "*imex*", container "main" of pod "rank-0" on "n1" has only "*/channel0" [NV-163]
    And container "main" of pod "rank-0" on "n1" has: [NV-163]
      | kind        | name                                    | value |
      | device node | /dev/nvidia-caps-imex-channels/channel0 | set   |
    And the ComputeDomain "job" has "status.status" Ready [NV-150]
    When pod "rank-0" is deleted
    Then the ComputeDomain label of node "n1" becomes "none" [NV-166]
