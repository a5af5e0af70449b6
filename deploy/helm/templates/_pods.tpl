{{- /* Puts the values of `agents` into their Job. */ -}}
{{- define "throng.agents" -}}
{{- $job := index . 0 }}
{{- $agents := index . 1 }}
{{- $_ := set $job.spec "completions" $agents.count }}
{{- $_ := set $job.spec "parallelism" $agents.count }}
{{- $pod := $job.spec.template.spec }}
{{- $agent := first $pod.containers }}
{{- $args := list }}
{{- range $arg := $agent.args }}
{{- if not (hasPrefix "--allow=" $arg) }}
{{- $args = append $args $arg }}
{{- end }}
{{- end }}
{{- range $server := $agents.allow }}
{{- $args = append $args (printf "--allow=%s" $server) }}
{{- end }}
{{- $args = append $args (printf "--label=revision=%d" (index . 2)) }}
{{- $_ := set $agent "args" $args }}
{{- if $agents.resources }}
{{- $_ := set $agent "resources" $agents.resources }}
{{- end }}
{{- if $agents.nodeSelector }}
{{- $_ := set $pod "nodeSelector" $agents.nodeSelector }}
{{- end }}
{{- if $agents.tolerations }}
{{- $_ := set $pod "tolerations" $agents.tolerations }}
{{- end }}
{{- end }}

{{- /*
Puts the command of `run` into its Job, with how the agents are reached: those of its revision, as the ones before are still
free while Helm ends them.
*/ -}}
{{- define "throng.run" -}}
{{- $job := index . 0 }}
{{- $values := index . 1 }}
{{- $reach := list "--fleet=env:NATS_URL" "--nats-ca=/etc/throng/tls/ca.crt" (printf "--agents=%v" $values.agents.count) (printf "--where=revision=%d" (index . 2)) "--fleet-wait=2m" }}
{{- $_ := set (first $job.spec.template.spec.containers) "args" (concat $values.run.command $reach) }}
{{- end }}

{{- /* Puts the names of secrets and of the service account into a pod. */ -}}
{{- define "throng.pod" -}}
{{- $pod := index . 0 }}
{{- $values := index . 1 }}
{{- range $variable := (first $pod.containers).env }}
{{- with dig "valueFrom" "secretKeyRef" dict $variable }}
{{- $_ := set . "name" $values.secrets.nats }}
{{- end }}
{{- end }}
{{- range $volume := $pod.volumes }}
{{- with $volume.secret }}
{{- $_ := set . "secretName" $values.secrets.tls }}
{{- end }}
{{- end }}
{{- with $values.imagePullSecrets }}
{{- $_ := set $pod "imagePullSecrets" . }}
{{- end }}
{{- with $values.serviceAccount.name }}
{{- $_ := set $pod "serviceAccountName" . }}
{{- end }}
{{- end }}
